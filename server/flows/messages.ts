import type { Publisher } from '../../core/cascade/publish/publish.ts'
import { REFUSED } from '../../core/cascade/publish/refused.ts'
import { flowsOf } from '../../core/cascade/publish/together.ts'
import type { ReadValue } from '../../core/memory/messages.ts'
import { ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import type { List, Page } from '../../protocol/nouns/list.ts'
import type { Message, MessageHistory, Published } from '../../protocol/nouns/message.ts'
import { formatTime } from '../../protocol/time.ts'
import { newEncoded } from '../../protocol/values/codec.ts'
import { type EncodedValue, KIND } from '../../protocol/values/encoded.ts'
import type { FrontMemory } from '../lanes/front-memory.ts'
import { pageOf } from '../list-page.ts'
import type { Store } from '../store/front/client.ts'
import type { HistoryRequest } from '../store/front/requests.ts'
import type { LiveMessage } from './flow.ts'
import type { MessageMap } from './message-map.ts'
import type { Names } from './names.ts'

/** For the next list; the buffers of a longer one are let go. */
const SCRATCHES_KEPT = 64

/** A longer value is not in lists: even as JSON, one of these leaves room for others. */
const LISTED_VALUE_BYTES = limits.LIST_BYTES / 16

export interface HistoryQuery {
  /** Microseconds since 1970, inclusive. */
  since_us: number | null
  /** Microseconds since 1970, exclusive. */
  until_us: number | null
  /** Points only: and of those at `until_us` itself the ones of a lower version. */
  until_version?: number | null
  limit: number
  bucket_s: number | null
}

export interface Messages {
  list(page: Page & { flow: string | null }): List<Message>
  get(name: string): Message
  /** One check, then one cascade each; all or nothing. Synchronous: an accepted value is in shared memory on return. */
  publish(items: readonly { name: string; value: unknown }[]): Published[]
  /** Resolves when the commit that holds them is synced. */
  publishDurably(items: readonly { name: string; value: unknown }[]): Promise<Published[]>
  history(name: string, query: HistoryQuery): Promise<MessageHistory>
  /** The same as JSON text in UTF-8: a page may be many MiB. */
  historyText(name: string, query: HistoryQuery): Promise<Uint8Array>
}

/** Values in and out of shared memory, by name. */
export class LiveMessages implements Messages {
  readonly #front: FrontMemory
  readonly #map: MessageMap
  readonly #names: Names
  readonly #store: Store
  readonly #read: ReadValue = { ...newEncoded(), version: 0, ts: 0 }
  readonly #scratch: EncodedValue[] = [newEncoded()]
  /** Values published from outside since the start. */
  published = 0

  constructor(front: FrontMemory, map: MessageMap, names: Names, store: Store) {
    this.#front = front
    this.#map = map
    this.#names = names
    this.#store = store
  }

  list({ limit, offset, flow }: Page & { flow: string | null }): List<Message> {
    const messages = flow === null ? this.#map.all() : this.#map.ofFlow(flow)
    const count = flow === null ? this.#map.size : this.#map.ofFlow(flow).length
    const shown = Iterator.from(messages)
      .drop(offset)
      .take(limit)
      .map(message => this.#shown(message, LISTED_VALUE_BYTES))
    return pageOf(shown, count, offset)
  }

  get(name: string): Message {
    return this.#shown(this.#find(name))
  }

  publish(items: readonly { name: string; value: unknown }[]): Published[] {
    const first = items[0]
    if (items.length === 1 && first !== undefined) return [this.#publishOne(first.name, first.value)]
    return this.#publishList(items)
  }

  /** Refused while the disk takes nothing; once it has a version, a value that did not reach the disk is `not_durable`. */
  async publishDurably(items: readonly { name: string; value: unknown }[]): Promise<Published[]> {
    const { fault, dropped } = this.#store.health
    if (fault !== null) throw new ServiceError(fault.code, `${fault.reason}. Nothing was published.`)
    const published = this.publish(items)
    await this.#store.durable(dropped)
    return published
  }

  #publishOne(name: string, value: unknown, ts = this.#front.clock.now_us()): Published {
    const message = this.#find(name)
    assertEnabled(message)
    const encoded = this.#scratch[0]!
    this.#encode(message, value, encoded, 'body.value')
    const version = this.#front.publisher.publish(message.route, encoded, ts)
    if (version < 0) throw this.#refusal(message, version)
    this.#front.journal.mark()
    this.published++
    return { name, version }
  }

  /** By a webhook: all of it in one cascade of each flow, or nothing. No message comes twice. `ts`: microseconds since 1970. */
  publishTogether(items: readonly { name: string; value: unknown }[], ts: number): void {
    const [first] = items
    if (items.length === 1 && first !== undefined) {
      this.#publishOne(first.name, first.value, ts)
      return
    }
    const messages = items.map(({ name, value }, at) => {
      const message = this.#find(name)
      assertEnabled(message)
      this.#encode(message, value, (this.#scratch[at] ??= newEncoded()), 'body')
      return message
    })
    const { publisher, journal } = this.#front
    const routes = messages.map(({ route }) => route)
    const refused = publisher.publishTogether(routes, flowsOf(routes), this.#scratch, ts, [])
    if (refused < 0) throw this.#refusal(messages[publisher.refused_at]!, refused)
    journal.mark()
    this.published += messages.length
  }

  /** Throws `backlogged` while a flow that the messages reach is full. */
  assertRoom(names: readonly string[]): void {
    for (const name of names) {
      const message = this.#find(name)
      if (message.route.downstream.some(flow => this.#front.flows.share(flow) >= 1))
        throw this.#refusal(message, REFUSED.backlogged)
    }
  }

  /** Throws `message_not_found`. */
  indexOf(name: string): number {
    return this.#find(name).index
  }

  /** All of it or nothing: the publisher has everything that the list needs before the first value stands. */
  #publishList(items: readonly { name: string; value: unknown }[]): Published[] {
    const messages = items.map(({ name, value }, at) => {
      const message = this.#map.get(name)
      if (message === undefined) {
        const msg = this.#map.noMessage(name)
        throw new ServiceError('message_not_found', msg, { errors: [{ loc: `body[${at}].name`, msg }] })
      }
      assertEnabled(message)
      this.#encode(message, value, (this.#scratch[at] ??= newEncoded()), `body[${at}].value`)
      return message
    })
    const { publisher, journal } = this.#front
    const versions: number[] = []
    const routes = messages.map(({ route }) => route)
    const refused = publisher.publishList(routes, this.#scratch, this.#front.clock.now_us(), versions)
    this.#scratch.length = Math.min(this.#scratch.length, SCRATCHES_KEPT)
    if (refused < 0) throw this.#refusal(messages[publisher.refused_at]!, refused)
    journal.mark()
    this.published += messages.length
    return messages.map(({ name }, at) => ({ name, version: versions[at]! }))
  }

  #encode(message: LiveMessage, value: unknown, out: EncodedValue, loc: string): void {
    const refusal = this.#front.codec.encode(value, message.dtype, out)
    if (refusal === null) return
    throw new ServiceError(refusal.code, `Message ${message.name}: ${refusal.text}.`, {
      errors: [{ loc, msg: refusal.text }],
    })
  }

  #refusal(message: LiveMessage, code: ReturnType<Publisher['publish']>): ServiceError {
    const options = { retry_after_s: limits.BACKLOG_RETRY_S }
    if (code === REFUSED.backlogged) {
      const full = message.route.downstream.find(flow => this.#front.flows.share(flow) >= 1)
      const name = (full === undefined ? null : this.#names.flowName(full)) ?? message.flow
      return new ServiceError('backlogged', `The queue of flow "${name}" is full.`, options)
    }
    const why = {
      [REFUSED.arena_full]: 'The memory for values is used up.',
      [REFUSED.queue_full]: 'The memory for waiting items is used up.',
      [REFUSED.journal_full]: 'The store is behind.',
      [REFUSED.held]:
        'A thread has held this flow for too long: it died and is being replaced, or the machine is overloaded.',
    }[code]
    return new ServiceError('backlogged', why ?? 'The value cannot be accepted now.', options)
  }

  #find(name: string): LiveMessage {
    const message = this.#map.get(name)
    if (message === undefined) throw new ServiceError('message_not_found', this.#map.noMessage(name))
    return message
  }

  /** A value of more bytes than `most` is left out. */
  #shown(message: LiveMessage, most: number = limits.MESSAGE_VALUE_BYTES): Message {
    const { name, dtype, publisher } = message
    const read = this.#read
    if (!this.#front.messages.read(message.index, read) || read.kind === KIND.none) {
      return { name, version: 0, value: null, dtype, updated_at: null, publisher }
    }
    const shown = { name, version: read.version, dtype, updated_at: formatTime(read.ts), publisher }
    if (read.length > most) return { ...shown, value: null, truncated: true }
    const value = this.#front.codec.decode(read.kind, read.number, read.bytes, 0, read.length)
    return { ...shown, value }
  }

  async history(name: string, query: HistoryQuery): Promise<MessageHistory> {
    return this.#store.history(this.#historyOf(name, query))
  }

  async historyText(name: string, query: HistoryQuery): Promise<Uint8Array> {
    return this.#store.historyText(this.#historyOf(name, query))
  }

  #historyOf(name: string, query: HistoryQuery): HistoryRequest {
    this.#find(name)
    const { since_us, until_us, until_version = null, limit, bucket_s } = query
    return { name, since: since_us, until: until_us, until_version, limit, bucket_s }
  }
}

function assertEnabled(message: LiveMessage): void {
  if (!message.enabled)
    throw new ServiceError('flow_disabled', `Flow "${message.flow}" is disabled and accepts no values.`)
}
