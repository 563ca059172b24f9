import type { Message, Published } from '../../protocol/nouns/message.ts'
import type { Calls } from './calls.ts'
import { type List, readPages } from './pages.ts'

export interface PublishOptions {
  /** Resolve when the commit that holds it is synced, not when it is accepted. */
  readonly durable?: boolean
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
