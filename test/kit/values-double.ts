import { KIND } from '../../protocol/values/encoded.ts'
import type { Fanout } from '../../server/fanout/fanout.ts'
import type { NewestValue, NewestValues } from '../../server/fanout/passing-value.ts'
import type { MessageDirectory } from '../../server/fanout/topics.ts'

interface Published {
  message: number
  version: number
  ts: number
  number: number
}

/** Float messages without shared memory: a table of newest values, and a journal that runs behind it until it is delivered. */
export class ValuesDouble implements NewestValues, MessageDirectory {
  readonly #names: string[] = []
  readonly #removed = new Set<number>()
  readonly #newest: (Published | undefined)[] = []
  /** Published, and not yet seen by the fan-out. */
  readonly journal: Published[] = []
  #begun: Published | null = null
  /** How often a value was copied out of the table. */
  reads = 0
  #ts = 1_767_225_600_000_000

  /** Declares messages by qualified name; answers the index of the first. */
  declare(...names: string[]): number {
    const first = this.#names.length
    this.#names.push(...names)
    return first
  }

  rename(message: number, name: string): void {
    this.#names[message] = name
  }

  /** Empties the message under a version that no journal carries. */
  clear(message: number): void {
    const version = this.version(message) + 1
    this.#newest[message] = { message, version, ts: this.#ts++, number: Number.NaN }
  }

  remove(message: number): void {
    this.#removed.add(message)
  }

  indexOf(name: string): number {
    const message = this.#names.lastIndexOf(name)
    return this.#removed.has(message) ? -1 : message
  }

  nameOf(message: number): string {
    return this.#names[message]!
  }

  /** What a decoder makes of the number is the value of a media message. */
  #kindOf(message: number) {
    return this.isMedia(message) ? KIND.json : KIND.float
  }

  /** Those whose names end so. */
  isMedia(message: number): boolean {
    return this.nameOf(message).endsWith('picture')
  }

  messagesOf(flow: string): readonly number[] | null {
    const messages = this.#names.flatMap((name, message) =>
      name.startsWith(`${flow}.`) && !this.#removed.has(message) ? [message] : [],
    )
    return messages.length === 0 ? null : messages
  }

  version(message: number): number {
    return this.#newest[message]?.version ?? 0
  }

  read(message: number, out: NewestValue): boolean {
    const newest = this.#newest[message]
    if (newest === undefined) return false
    this.reads++
    const kind = Number.isNaN(newest.number) ? KIND.none : this.#kindOf(message)
    Object.assign(out, { kind, number: newest.number, length: 8, version: newest.version, ts: newest.ts })
    return true
  }

  /** In the journal first and in the table an instant later, as publishers do it. */
  publish(message: number, number: number): number {
    this.begin(message, number)
    this.flip()
    return this.version(message)
  }

  /** Publishes as far as the journal. */
  begin(message: number, number: number): void {
    this.flip()
    const published = { message, version: this.version(message) + 1, ts: this.#ts++, number }
    this.#begun = published
    this.journal.push(published)
  }

  /** The newest version, also one that the table has not got yet. */
  begun(message: number): number {
    return this.#begun?.message === message ? this.#begun.version : this.version(message)
  }

  /** The table follows. */
  flip(): void {
    if (this.#begun !== null) this.#newest[this.#begun.message] = this.#begun
    this.#begun = null
  }

  /** Hands the oldest `count` values of the journal to the fan-out. */
  deliver(fanout: Fanout, count = Number.POSITIVE_INFINITY): void {
    for (let left = Math.min(count, this.journal.length); left > 0; left--) {
      const { message, version, ts, number } = this.journal.shift()!
      fanout.value({
        subject: message,
        version,
        ts,
        value_kind: this.#kindOf(message),
        number,
        bytes: NOTHING,
        start: 0,
        length: 8,
      })
    }
  }

  /** The oldest `count` values are overwritten before the fan-out saw them. */
  lose(count: number): void {
    this.journal.splice(0, count)
  }
}

const NOTHING = Buffer.alloc(0)

export const newestScratch = (): NewestValue => ({
  kind: KIND.none,
  number: 0,
  bytes: Buffer.alloc(64),
  length: 0,
  version: 0,
  ts: 0,
})
