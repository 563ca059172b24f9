import type { Message, Published } from '../../protocol/nouns/message.ts'
import type { Calls } from './calls.ts'
import { type List, readPages } from './pages.ts'

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
  async publish(name: string, value: unknown): Promise<Published> {
    return (await this.#calls.json<Published>({ method: 'POST', path: pathOf(name), json: { value } })).body
  }
}

const pathOf = (name: string): string => `/messages/${encodeURIComponent(name)}`
