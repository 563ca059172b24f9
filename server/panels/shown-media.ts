import { limits } from '../../protocol/limits.ts'
import { newEncoded } from '../../protocol/values/codec.ts'
import type { NewestValue, NewestValues, PassingValue } from '../fanout/passing-value.ts'
import type { ValueDecoder } from '../fanout/value-text.ts'

interface ShownMediaParts {
  /** How many messages there may be. */
  readonly messages: number
  readonly directory: { indexOf(name: string): number }
  readonly values: NewestValues
  readonly decoder: ValueDecoder
  /** Milliseconds of a steady clock. */
  now_ms(): number
  readonly shown_ms?: number
  readonly most?: number
}

/** Digests that one message carried, oldest first, each with the time until which it counts; the present one has no end. */
interface Shown {
  readonly name: string
  index: number
  readonly until: Map<string, number>
  present: string | null
}

/**
 * Which bytes the messages refer to that panels show, now and within the last minute. Fed with the values of the journal, also while
 * nobody follows them. Of each message so many digests are kept; the oldest goes first.
 */
export class ShownMedia {
  readonly #parts: ShownMediaParts
  readonly #shown_ms: number
  readonly #most: number
  readonly #wanted: Uint8Array
  readonly #by_name = new Map<string, Shown>()
  readonly #by_index = new Map<number, Shown>()
  readonly #by_digest = new Map<string, Set<Shown>>()
  readonly #scratch: NewestValue = { ...newEncoded(), version: 0, ts: 0 }

  constructor(parts: ShownMediaParts) {
    this.#parts = parts
    this.#shown_ms = parts.shown_ms ?? limits.PANEL_MEDIA_MS
    this.#most = parts.most ?? limits.PANEL_MEDIA_SHOWN
    this.#wanted = new Uint8Array(parts.messages)
  }

  /** Asked for each value of the journal. */
  wants(message: number): boolean {
    return this.#wanted[message] === 1
  }

  /** These names and no others; there need not be messages of them. */
  watch(names: ReadonlySet<string>): void {
    for (const shown of [...this.#by_name.values()]) if (!names.has(shown.name)) this.#forget(shown)
    for (const name of names) {
      if (this.#by_name.has(name)) continue
      this.#by_name.set(name, { name, index: -1, until: new Map(), present: null })
    }
    this.messagesChanged()
  }

  /** Messages came, went, or stand under other names. */
  messagesChanged(): void {
    for (const shown of this.#by_name.values()) {
      const index = this.#parts.directory.indexOf(shown.name)
      if (index === shown.index) continue
      if (shown.index !== -1 && this.#by_index.get(shown.index) === shown) {
        this.#wanted[shown.index] = 0
        this.#by_index.delete(shown.index)
      }
      this.#present(shown, null)
      shown.index = index
    }
    for (const shown of this.#by_name.values()) {
      const { index } = shown
      if (index === -1 || this.#by_index.get(index) === shown) continue
      this.#wanted[index] = 1
      this.#by_index.set(index, shown)
      const newest = this.#scratch
      if (!this.#parts.values.read(index, newest)) continue
      const { kind, number, bytes, length } = newest
      this.#present(shown, digestIn(this.#parts.decoder.decode(kind, number, bytes, 0, length)))
    }
  }

  see({ subject, value_kind, number, bytes, start, length }: PassingValue): void {
    const shown = this.#by_index.get(subject)
    if (shown === undefined) return
    this.#present(shown, digestIn(this.#parts.decoder.decode(value_kind, number, bytes, start, length)))
  }

  wasShown(digest: string, messages: ReadonlySet<string>): boolean {
    const carriers = this.#by_digest.get(digest)
    if (carriers === undefined) return false
    const now_ms = this.#parts.now_ms()
    for (const { name, until } of carriers) if (messages.has(name) && until.get(digest)! > now_ms) return true
    return false
  }

  #present(shown: Shown, digest: string | null): void {
    const { until, present } = shown
    if (digest === present) return
    const now_ms = this.#parts.now_ms()
    if (present !== null) until.set(present, now_ms + this.#shown_ms)
    shown.present = digest
    if (digest !== null) {
      until.delete(digest)
      until.set(digest, Number.POSITIVE_INFINITY)
      const carriers = this.#by_digest.get(digest)
      if (carriers === undefined) this.#by_digest.set(digest, new Set([shown]))
      else carriers.add(shown)
    }
    for (const [oldest, until_ms] of until) {
      if (until_ms > now_ms && until.size <= this.#most) break
      this.#drop(shown, oldest)
    }
  }

  #drop(shown: Shown, digest: string): void {
    shown.until.delete(digest)
    const carriers = this.#by_digest.get(digest)
    if (carriers?.delete(shown) && carriers.size === 0) this.#by_digest.delete(digest)
  }

  #forget(shown: Shown): void {
    for (const digest of [...shown.until.keys()]) this.#drop(shown, digest)
    this.#by_name.delete(shown.name)
    if (this.#by_index.get(shown.index) !== shown) return
    this.#by_index.delete(shown.index)
    this.#wanted[shown.index] = 0
  }
}

function digestIn(value: unknown): string | null {
  if (typeof value !== 'object' || value === null) return null
  const { digest } = value as { digest?: unknown }
  return typeof digest === 'string' ? digest : null
}
