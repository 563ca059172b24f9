import type { Message, MessageHistory, Published } from '../../protocol/nouns/message.ts'
import type { Calls } from './calls.ts'
import { type List, readPages } from './pages.ts'

export interface PublishOptions {
  /** Resolve when the commit that holds it is synced, not when it is accepted. */
  readonly durable?: boolean
}

export interface HistoryQuery {
  /** RFC 3339. */
  readonly since?: string | undefined
  readonly until?: string | undefined
  /** 1000 when not given: the newest of the window. */
  readonly limit?: number | undefined
  /** Bins of this width in place of points. */
  readonly bucket_s?: number | undefined
}

/** Messages and their latest values; names are `<flow>.<message>`. */
export class Messages {
  readonly #calls: Calls

  constructor(calls: Calls) {
    this.#calls = calls
  }

  list(options: { flow?: string; most?: number } = {}): Promise<List<Message>> {
    return readPages(this.#calls, '/messages', { flow: options.flow }, options.most)
  }

  get(name: string): Promise<Message> {
    return this.#calls.get(pathOf(name))
  }

  /** Published values of a window, oldest first. */
  history(name: string, query: HistoryQuery = {}): Promise<MessageHistory> {
    return this.#calls.get(`${pathOf(name)}/history`, { ...query })
  }

  /** Sent once: a second publish would be a second value. */
  async publish(name: string, value: unknown, { durable = false }: PublishOptions = {}): Promise<Published> {
    const json = durable ? { value, durable } : { value }
    return (await this.#calls.json<Published>({ method: 'POST', path: pathOf(name), json })).body
  }

  /** All of them or none, in their order, one cascade each. Sent once. */
  async publishAll(
    items: readonly { readonly name: string; readonly value: unknown }[],
    { durable = false }: PublishOptions = {},
  ): Promise<Published[]> {
    const json = durable ? items.map(item => ({ ...item, durable })) : items
    return (await this.#calls.json<Published[]>({ method: 'POST', path: '/messages/', json })).body
  }
}

const pathOf = (name: string): string => `/messages/${encodeURIComponent(name)}`
