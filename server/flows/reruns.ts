import { REFUSED } from '../../core/cascade/publish/refused.ts'
import { ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import type { Cascade, Rerun } from '../../protocol/nouns/cascade.ts'
import { parseCascadeId } from '../../protocol/nouns/cascade-id.ts'
import type { EventType } from '../../protocol/nouns/event.ts'
import { parseTime } from '../../protocol/time.ts'
import { newEncoded } from '../../protocol/values/codec.ts'
import { agrees } from '../../protocol/values/dtypes.ts'
import type { FrontMemory } from '../lanes/front-memory.ts'
import type { Store } from '../store/front/client.ts'
import type { LiveMessage } from './flow.ts'
import type { LiveFlows } from './flows.ts'
import type { MessageMap } from './message-map.ts'

/** The clock is corrected in silence by less, see `Commit`. */
const CLOCKS_DIFFER_US = limits.CLOCK_JUMP_MS * 1000

export interface Cascades {
  /** Accepted in memory: the cascade begins as one of a value that was published. */
  rerun(id: string): Promise<Rerun>
}

interface Parts {
  front: FrontMemory
  map: MessageMap
  flows: LiveFlows
  store: Store
  announce(type: EventType, flow: string, more?: Record<string, unknown>): void
}

/** Runs cascades again that were interrupted or failed, from the value that began them, in their flow alone. */
export class LiveCascades implements Cascades {
  readonly #parts: Parts
  readonly #encoded = newEncoded()

  constructor(parts: Parts) {
    this.#parts = parts
  }

  async rerun(id: string): Promise<Rerun> {
    const { store, announce } = this.#parts
    const cascade = await store.cascade(id)
    assertEnded(cascade)
    const read = await this.#valueOf(cascade)
    // From here on nothing is waited for: what is looked at still holds when the item is appended.
    const { message, flow_index } = this.#reader(cascade)
    const value = message.dtype === 'bool' ? read === 1 : read
    const refusal = this.#parts.front.codec.encode(value, message.dtype, this.#encoded)
    if (refusal !== null) throw gone(cascade, `it is not a value of dtype ${message.dtype} any more`)
    const { engine_epoch, seq } = parseCascadeId(id)!
    const { publisher, journal } = this.#parts.front
    const item = { flow: flow_index, message: message.index, version: cascade.root_version }
    const refused = publisher.again(item, this.#encoded, this.#parts.front.clock.now_us(), seq, engine_epoch)
    if (refused < 0) throw backlogged(cascade, refused)
    journal.mark()
    const { flow, root, root_version } = cascade
    announce('cascade_rerun', flow, { cascade: id, root, root_version })
    return { rerun_of: id, flow, root, root_version }
  }

  /** The message and the flow as they are now: it still reads it. */
  #reader(cascade: Cascade): { message: LiveMessage; flow_index: number } {
    const flow = this.#parts.flows.find(cascade.flow)
    if (flow === undefined) throw gone(cascade, `there is no flow "${cascade.flow}" any more`)
    if (!flow.enabled) throw new ServiceError('flow_disabled', `Flow "${cascade.flow}" is disabled and runs nothing.`)
    const message = this.#parts.map.get(cascade.root)
    const read = flow.plan.messages.find(one => one.name === cascade.root)
    if (message === undefined || read === undefined || read.readers.length === 0)
      throw gone(cascade, `no node of flow "${cascade.flow}" is triggered by it any more`)
    if (!agrees(message.dtype, read.dtype)) throw gone(cascade, 'its dtype has changed')
    return { message, flow_index: flow.index }
  }

  /**
   * By version: the clock of the thread that published may be ahead of that of the lane that began, on a loaded machine by more
   * than it should be. So a window that ends before the version is made wider.
   */
  async #valueOf(cascade: Cascade): Promise<unknown> {
    const started = parseTime(cascade.started_at)!
    for (let ahead = CLOCKS_DIFFER_US; ; ahead *= 10) {
      const found = await this.#search(cascade, started + ahead)
      if (found !== null) return found.value
      if (started + ahead > this.#parts.front.clock.now_us() + CLOCKS_DIFFER_US)
        throw gone(cascade, 'the history does not keep it any more')
    }
  }

  /** Newest first, from `until` back to the version. Null: all that is there is older. */
  async #search(cascade: Cascade, until: number): Promise<{ value: unknown } | null> {
    const query = { name: cascade.root, since: null, limit: limits.LIST_LIMIT, bucket_s: null }
    let until_version: number | null = null
    for (let isFirst = true; ; isFirst = false) {
      const { items, truncated } = await this.#parts.store.history({ ...query, until, until_version })
      const points = items as { ts: string; version: number; value: unknown }[]
      const found = points.find(point => point.version === cascade.root_version)
      if (found !== undefined) return found
      const [oldest] = points
      if (isFirst && (points.at(-1)?.version ?? 0) < cascade.root_version) return null
      if (oldest === undefined || !truncated || oldest.version < cascade.root_version)
        throw gone(cascade, 'the history does not keep it any more')
      until = parseTime(oldest.ts)!
      until_version = oldest.version
    }
  }
}

function assertEnded({ id, status }: Cascade): void {
  if (status === 'running') throw new ServiceError('cascade_running', `Cascade ${id} has not ended.`)
  if (status === 'succeeded') throw new ServiceError('cascade_succeeded', `Cascade ${id} has succeeded.`)
}

const gone = ({ root, root_version }: Cascade, why: string): ServiceError =>
  new ServiceError('root_value_gone', `Version ${root_version} of "${root}" cannot be run again: ${why}.`)

function backlogged({ flow }: Cascade, code: number): ServiceError {
  const why =
    code === REFUSED.backlogged
      ? `Flow "${flow}" has as much waiting as it may hold.`
      : 'The memory for waiting items is used up, or the store is behind.'
  return new ServiceError('backlogged', why, { retry_after_s: limits.BACKLOG_RETRY_S })
}
