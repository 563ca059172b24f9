import { add, load, store } from '#atomics'
import { finish, type Steps } from '../steps.ts'
import { type HashBases, type Pattern, power, WINDOW } from './pattern.ts'

/** Patterns that the table holds. */
export const MASK_PATTERNS = 32_768

/** Words of the head; the rest of it is free. */
const HEAD = { version: 0, count: 1, window: 2, first: 3, second: 4, words: 16 } as const
/** A bit for each value of 20 bits that the window of a pattern has: most windows of a text stop here. */
const FILTER_BITS = 20
const FILTER = HEAD.words
const FILTER_WORDS = 2 ** FILTER_BITS / 32
/** First pattern of each bucket, plus one. */
const BUCKETS = FILTER + FILTER_WORDS
const BUCKET_COUNT = 65_536
/** Words of a pattern. */
const ENTRY = {
  hash: 0,
  offset: 1,
  length: 2,
  first: 3,
  second: 4,
  first_power: 5,
  second_power: 6,
  next: 7,
  words: 8,
} as const
const ENTRIES = BUCKETS + BUCKET_COUNT

export const MASK_TABLE_BYTES = (ENTRIES + MASK_PATTERNS * ENTRY.words) * 4

export const MASK = '***'
/** What stands where the engine has cut a text. */
const CUT = '…'

const mixed = (hash: number): number => {
  const folded = hash ^ (hash >>> 15)
  const once = Math.imul(folded, 0x2c1b3c6d)
  return once ^ (once >>> 13)
}

/** The writer is the front thread alone; it replaces all of it at once. */
export function writeMasks(sab: SharedArrayBuffer, patterns: readonly Pattern[], bases: HashBases): void {
  if (patterns.length > MASK_PATTERNS) throw new RangeError('more patterns than the table holds')
  const words = new Int32Array(sab)
  // Odd while it is written: who reads meanwhile reads again.
  add(words, HEAD.version, 1)
  words.fill(0, HEAD.words, ENTRIES)
  words[HEAD.window] = bases.window
  words[HEAD.first] = bases.first
  words[HEAD.second] = bases.second
  for (const [at, pattern] of patterns.entries()) {
    const offset = rarest(words, pattern)
    const hash = pattern.windows[offset]!
    const mix = mixed(hash)
    const bit = mix >>> (32 - FILTER_BITS)
    words[FILTER + (bit >>> 5)]! |= 1 << (bit & 31)
    const bucket = BUCKETS + (mix & (BUCKET_COUNT - 1))
    const entry = ENTRIES + at * ENTRY.words
    words[entry + ENTRY.hash] = hash
    words[entry + ENTRY.offset] = offset
    words[entry + ENTRY.length] = pattern.length
    words[entry + ENTRY.first] = pattern.first
    words[entry + ENTRY.second] = pattern.second
    words[entry + ENTRY.first_power] = pattern.first_power
    words[entry + ENTRY.second_power] = pattern.second_power
    words[entry + ENTRY.next] = words[bucket]!
    words[bucket] = at + 1
  }
  store(words, HEAD.count, patterns.length)
  add(words, HEAD.version, 1)
}

/** The first window that no pattern before it has: patterns that begin alike are told apart. */
function rarest(words: Int32Array, { windows }: Pattern): number {
  for (let offset = 0; offset < windows.length; offset++)
    if (words[BUCKETS + (mixed(windows[offset]!) & (BUCKET_COUNT - 1))] === 0) return offset
  return 0
}

/** Replaces what the table's patterns stand for in texts; in any thread. */
export class Masks {
  readonly #words: Int32Array

  constructor(sab: SharedArrayBuffer) {
    this.#words = new Int32Array(sab)
  }

  /** Nothing is masked: one load. */
  get isEmpty(): boolean {
    return this.#words[HEAD.count] === 0
  }

  /**
   * Every place of a pattern becomes `***`, overlapping ones together. Where the engine has cut a text (`…`), a pattern that goes on
   * behind the cut is masked up to it.
   */
  text(text: string): string {
    if (this.isEmpty || text.length < WINDOW) return text
    if (text.length > STEP) return finish(this.#long(text, new Step()))
    for (;;) {
      const version = load(this.#words, HEAD.version)
      const search = new Search(this.#words, text)
      search.go(text.length)
      if (this.#stands(version)) return search.masked()
    }
  }

  /** The same of every text in a value, names of members too. The value itself when there is nothing to mask in it. */
  deep<Value>(value: Value): Value {
    return this.isEmpty ? value : finish(this.deepSteps(value))
  }

  /** `deep` in steps, each of which looks at about `STEP` characters. */
  *deepSteps<Value>(value: Value): Steps<Value> {
    if (this.isEmpty) return value
    if (typeof value === 'object' && value !== null) return (yield* this.#deep(value, new Step())) as Value
    return (typeof value === 'string' ? yield* this.#long(value, new Step()) : value) as Value
  }

  *#deep(value: object, step: Step): Steps<unknown> {
    if (ArrayBuffer.isView(value)) return value
    if (Array.isArray(value)) {
      let masked: unknown[] | null = null
      for (let at = 0; at < value.length; at++) {
        const member: unknown = value[at]
        const shown = isLeaf(member) ? this.#leaf(member) : yield* this.#branch(member, step)
        if (step.took(member)) yield
        if (shown === member) continue
        masked ??= value.slice()
        masked[at] = shown
      }
      return masked ?? value
    }
    let changed = false
    const entries: [string, unknown][] = []
    for (const [key, member] of Object.entries(value) as [string, unknown][]) {
      const shown = isLeaf(member) ? this.#leaf(member) : yield* this.#branch(member, step)
      const name = this.text(key)
      if (step.took(key) || step.took(member)) yield
      changed ||= name !== key || shown !== member
      entries.push([name, shown])
    }
    return changed ? Object.fromEntries(entries) : value
  }

  #leaf(value: unknown): unknown {
    return typeof value === 'string' ? this.text(value) : value
  }

  #branch(value: unknown, step: Step): Steps<unknown> {
    return typeof value === 'string' ? this.#long(value, step) : this.#deep(value as object, step)
  }

  /** Of a long text, in steps. Begins again when the table has changed meanwhile. */
  *#long(text: string, step: Step): Steps<string> {
    if (text.length <= STEP) return this.text(text)
    for (;;) {
      const version = load(this.#words, HEAD.version)
      const search = new Search(this.#words, text)
      while (!search.go(STEP)) yield
      step.begin()
      if (this.#stands(version)) return search.masked()
      yield
    }
  }

  /** What was read since is one table. */
  #stands(version: number): boolean {
    return (version & 1) === 0 && load(this.#words, HEAD.version) === version
  }
}

/** Characters that one step looks at. */
const STEP = 32 * 1024
/** What each part of a value counts besides its text. */
const PART = 8

const isLeaf = (value: unknown): boolean =>
  typeof value === 'string' ? value.length <= STEP : typeof value !== 'object' || value === null

/** How much of a step has been done. */
class Step {
  #done = 0

  begin(): void {
    this.#done = 0
  }

  /** Is it time to yield? */
  took(value: unknown): boolean {
    this.#done += PART + (typeof value === 'string' ? value.length : 0)
    if (this.#done < STEP) return false
    this.#done = 0
    return true
  }
}

/** The search through one text, as far as it has come. */
class Search {
  readonly #words: Int32Array
  readonly #text: string
  #found: Found | null = null
  #hash = 0
  #at = 0

  constructor(words: Int32Array, text: string) {
    this.#words = words
    this.#text = text
  }

  /** So many characters further; is that the end? */
  go(characters: number): boolean {
    const words = this.#words
    const text = this.#text
    const base = words[HEAD.window]!
    const gone = power(base, WINDOW - 1)
    const end = Math.min(this.#at + characters, text.length)
    let hash = this.#hash
    for (let at = this.#at; at < end; at++) {
      if (at >= WINDOW) hash = (hash - Math.imul(text.charCodeAt(at - WINDOW), gone)) | 0
      hash = (Math.imul(hash, base) + text.charCodeAt(at)) | 0
      if (at < WINDOW - 1) continue
      const mix = mixed(hash)
      const bit = mix >>> (32 - FILTER_BITS)
      if ((words[FILTER + (bit >>> 5)]! & (1 << (bit & 31))) === 0) continue
      for (let next = words[BUCKETS + (mix & (BUCKET_COUNT - 1))]!; next !== 0 && next <= MASK_PATTERNS; ) {
        const entry = ENTRIES + (next - 1) * ENTRY.words
        next = words[entry + ENTRY.next]!
        if (words[entry + ENTRY.hash] !== hash) continue
        this.#found ??= new Found(text, words[HEAD.first]!, words[HEAD.second]!)
        this.#found.look(words, entry, at - WINDOW + 1)
      }
    }
    this.#hash = hash
    this.#at = end
    return end === text.length
  }

  masked(): string {
    return this.#found?.replaced() ?? this.#text
  }
}

/** Places in one text. Hashes of its beginnings make every look take the same time, however long the pattern is. */
class Found {
  readonly #text: string
  readonly #bases: readonly [first: number, second: number]
  readonly #first: Int32Array
  readonly #second: Int32Array
  /** Beginnings up to this length have been hashed. */
  #hashed = 0
  /** The first cut that a look has asked for, or the end of the text. */
  #cut = -1
  readonly #places: [from: number, to: number][] = []

  constructor(text: string, first: number, second: number) {
    this.#text = text
    this.#bases = [first, second]
    this.#first = new Int32Array(text.length + 1)
    this.#second = new Int32Array(text.length + 1)
  }

  /** Windows come in the order in which they stand in the text. */
  look(words: Int32Array, entry: number, window: number): void {
    const from = window - words[entry + ENTRY.offset]!
    const to = from + words[entry + ENTRY.length]!
    if (from >= 0 && to <= this.#text.length) {
      this.#hash(to)
      const first = (this.#first[to]! - Math.imul(this.#first[from]!, words[entry + ENTRY.first_power]!)) | 0
      const second = (this.#second[to]! - Math.imul(this.#second[from]!, words[entry + ENTRY.second_power]!)) | 0
      if (first === words[entry + ENTRY.first] && second === words[entry + ENTRY.second]) {
        this.#add(from, to)
        return
      }
    }
    if (this.#cut < window + WINDOW) {
      const cut = this.#text.indexOf(CUT, window + WINDOW)
      this.#cut = cut < 0 ? this.#text.length : cut
    }
    if (this.#cut < Math.min(to, this.#text.length)) this.#add(Math.max(from, 0), this.#cut)
  }

  replaced(): string {
    if (this.#places.length === 0) return this.#text
    this.#places.sort(([a], [b]) => a - b)
    let masked = ''
    let at = 0
    let end = -1
    for (const [from, to] of this.#places) {
      if (from > end) {
        masked += this.#text.slice(at, from) + MASK
        end = to
      } else end = Math.max(end, to)
      at = end
    }
    return masked + this.#text.slice(at)
  }

  /** A text that repeats a pattern is one place, however often. */
  #add(from: number, to: number): void {
    const last = this.#places.at(-1)
    if (last !== undefined && from >= last[0] && from <= last[1]) last[1] = Math.max(last[1], to)
    else this.#places.push([from, to])
  }

  #hash(to: number): void {
    const [first, second] = this.#bases
    for (; this.#hashed < to; this.#hashed++) {
      const unit = this.#text.charCodeAt(this.#hashed)
      this.#first[this.#hashed + 1] = (Math.imul(this.#first[this.#hashed]!, first) + unit) | 0
      this.#second[this.#hashed + 1] = (Math.imul(this.#second[this.#hashed]!, second) + unit) | 0
    }
  }
}
