import { JOURNAL } from '../../core/memory/journal/journal.ts'
import type { EventType } from '../../protocol/nouns/event.ts'
import { formatTime } from '../../protocol/time.ts'
import type { Note } from '../../threads/lane/messages.ts'
import type { NodeHealth } from '../health/node-health.ts'
import type { Log } from '../observe/serve-log.ts'
import type { FrontMemory } from './front-memory.ts'
import type { LaneDeath } from './lane-team.ts'

export interface LaneFaultsParts {
  readonly front: FrontMemory
  readonly health: NodeHealth
  readonly log: Log
  readonly blocked_lane_ms: number
  /** By node index; null: it has no node any more. */
  nodeName(node: number): string | null
  announce(type: EventType, flow: string | null, more: Record<string, unknown>): void
}

const flowOf = (node: string): string => node.slice(0, node.indexOf('.'))

/** What users are told when a body blocks its lane, or takes it along. */
export class LaneFaults {
  readonly #parts: LaneFaultsParts

  constructor(parts: LaneFaultsParts) {
    this.#parts = parts
  }

  blocked(index: number): void {
    const { health, blocked_lane_ms, announce, nodeName } = this.#parts
    const node = nodeName(index)
    if (node === null) return
    const text = `${node} blocked its lane for more than ${blocked_lane_ms} ms: it runs in a call slot from its next execution on. Let it yield, or declare a timeout.`
    health.trouble(node, 'blocked_lane', text, this.#parts.front.clock.now_us())
    announce('node_promoted', flowOf(node), { node, reason: 'blocked_lane' })
  }

  /** The body that ran on the lane is named, and its node shows why it ended. */
  died(death: LaneDeath): void {
    const { health, log, announce, nodeName } = this.#parts
    const { code, message, slot, stack, interrupted } = death
    const node = death.node === null ? null : nodeName(death.node)
    log.warn('lane_died', { slot, code, message, node, interrupted })
    announce('thread_replaced', node === null ? null : flowOf(node), { thread: 'lane', slot, code, node, interrupted })
    if (node === null) return
    const ts = this.#parts.front.clock.now_us()
    const text = `${message} The node runs in a call slot from now on.`
    const error = { node, code, message: text, stack, inputs: null }
    health.failed({ ...error, ts: formatTime(ts), cascade: null, acknowledged: false })
    this.#note({ type: 'error', ...error, ts, cascade_seq: 0, cascade_ts: 0 })
  }

  /** Into the front's own journal, from which the store keeps it. */
  #note(note: Note): void {
    const { journal, codec } = this.#parts.front
    const bytes = codec.encodePlain(note)
    if (!journal.hasRoom(bytes.length + 64)) return
    journal.blob(JOURNAL.note, 0, note.ts, bytes, bytes.length)
    journal.mark()
  }
}
