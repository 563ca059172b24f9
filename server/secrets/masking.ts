import { randomInt } from 'node:crypto'
import { inspect } from 'node:util'
import { type HashBases, type Pattern, patternOf, WINDOW } from '../../core/masks/pattern.ts'
import { MASK_PATTERNS, MASK_TABLE_BYTES, Masks, writeMasks } from '../../core/masks/table.ts'
import type { Steps } from '../../core/steps.ts'

/** Shorter values are not masked: they would stand for words of the texts around them. */
export const MASKED_CHARACTERS = WINDOW

const odd = (): number => randomInt(2 ** 31) | 1

/** Keeps the table of what is masked: every value of a secret, and those that it had since the engine started. */
export class Masking {
  readonly sab = new SharedArrayBuffer(MASK_TABLE_BYTES)
  readonly masks = new Masks(this.sab)
  readonly #bases: HashBases = { window: odd(), first: odd(), second: odd() }
  /** Of the present value, by the name of the secret. */
  readonly #now = new Map<string, readonly Pattern[]>()
  /** Of values that were replaced, the newest last: a body may still hold one. */
  #before: Pattern[] = []

  get #count(): number {
    let count = 0
    for (const patterns of this.#now.values()) count += patterns.length
    return count
  }

  /** In steps, the value of a secret. Throws a RangeError when the table is full. Nothing is masked by it before `write`. */
  *set(name: string, value: string | null): Steps<void> {
    const seen = new Set<string>()
    const patterns: Pattern[] = []
    for (const form of value === null ? [] : formsOf(value)) {
      yield
      if (form === undefined || form.length < MASKED_CHARACTERS || seen.has(form)) continue
      seen.add(form)
      patterns.push(yield* patternOf(form, this.#bases))
    }
    const old = this.#now.get(name) ?? []
    const others = this.#count - old.length
    if (others + patterns.length > MASK_PATTERNS) throw new RangeError('the table of masks is full')
    this.#before = [...this.#before, ...old]
    if (patterns.length === 0) this.#now.delete(name)
    else this.#now.set(name, patterns)
  }

  write(): void {
    const now = [...this.#now.values()].flat()
    this.#before = this.#before.slice(-Math.max(0, MASK_PATTERNS - now.length))
    if (now.length === MASK_PATTERNS) this.#before = []
    writeMasks(this.sab, [...now, ...this.#before], this.#bases)
  }
}

/** Lines of a value of many lines that are masked alone, too: what prints it may print it line by line. */
const LINES = 1_000
/** `-----BEGIN PRIVATE KEY-----` is in every such file. */
const FRAME = /^-{5}/

/** Undefined: another step of a form has been done. */
type Forms = Generator<string | undefined, void, undefined>

/** A value as it may stand in a text: as it is, and as base64, hex, parts of URLs, JSON and what `console.log` prints of an object. */
export function* formsOf(value: string): Forms {
  if (value.length < MASKED_CHARACTERS) return
  yield value
  yield* escapedForms(value)
  yield* encodedForms(value)
  const lines = value.split(/\r?\n/)
  if (lines.length === 1) return
  for (const line of lines.slice(0, LINES)) {
    if (line.length < MASKED_CHARACTERS || FRAME.test(line)) continue
    yield line
    yield* escapedForms(line)
  }
}

/** Of a form that takes each character for itself. */
type Way = (piece: string) => string

const PIECE = 2_048

/** A long value takes some ten milliseconds in some of the ways: piece by piece, none of which ends between the halves of a character. */
function* writtenIn(way: Way, value: string): Forms {
  let form = ''
  for (let at = 0; at < value.length; yield) {
    let end = Math.min(at + PIECE, value.length)
    if (end < value.length && (value.charCodeAt(end - 1) & 0xfc00) === 0xd800) end--
    form += way(value.slice(at, end))
    at = end
  }
  yield form
}

const json: Way = text => JSON.stringify(text).slice(1, -1)
const lowerAscii: Way = text =>
  json(text).replace(/[\u007f-\uffff]/g, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
const upperAscii: Way = text => lowerAscii(text).replace(/\\u[0-9a-f]{4}/g, one => `\\u${one.slice(2).toUpperCase()}`)

const ESCAPED: readonly Way[] = [
  json,
  text => json(text).replaceAll('/', '\\/'),
  lowerAscii,
  upperAscii,
  text => json(json(text)),
  text => text.replaceAll("'", "\\'"),
]

function* escapedForms(value: string): Forms {
  for (const way of ESCAPED) yield* writtenIn(way, value)
  yield* writtenIn(inspected(value), value)
}

/** `inspect` quotes a text by the quotes that are in it: every piece gets those of the whole value, which are taken off again. */
function inspected(value: string): Way {
  let quotes = ''
  if (value.includes("'")) quotes = value.includes('"') ? `'"` : "'"
  if (quotes.length === 2 && /`|\$\{/.test(value)) quotes += '`'
  const extra = inspect(quotes).length - 1
  return text =>
    inspect(text + quotes, { breakLength: Number.POSITIVE_INFINITY, maxStringLength: null }).slice(1, -extra)
}

const URLS: readonly Way[] = [
  encodeURIComponent,
  text => encodeURIComponent(text).replace(/[!'()*]/g, one => `%${one.charCodeAt(0).toString(16).toUpperCase()}`),
  text => new URLSearchParams([['', text]]).toString().slice(1),
  encodeURI,
]

function* encodedForms(value: string): Forms {
  const bytes = Buffer.from(value, 'utf8')
  yield* base64Forms(bytes)
  const hex = bytes.toString('hex')
  yield hex
  yield hex.toUpperCase()
  for (const way of URLS) {
    yield* writtenIn(way, value)
    yield* writtenIn(text => way(text).replace(/%[0-9A-F]{2}/g, one => one.toLowerCase()), value)
  }
}

/** Wherever the value begins in what is encoded: of each of the three alignments, the characters that depend on nothing else. */
function* base64Forms(bytes: Buffer): Iterable<string> {
  for (const before of [0, 1, 2]) {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64')
    const own = text.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6))
    yield own
    yield own.replaceAll('+', '-').replaceAll('/', '_')
  }
}
