import { randomInt } from 'node:crypto'
import { inspect } from 'node:util'
import { type HashBases, type Pattern, patternOf, WINDOW } from '../../core/masks/pattern.ts'
import { MASK_PATTERNS, MASK_TABLE_BYTES, Masks, writeMasks } from '../../core/masks/table.ts'

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

  /** Throws a RangeError when the table is full. Nothing is masked by it before `write`. */
  set(name: string, value: string | null): void {
    const patterns = value === null ? [] : formsOf(value).map(form => patternOf(form, this.#bases))
    const old = this.#now.get(name) ?? []
    const others = this.#count - old.length
    if (others + patterns.length > MASK_PATTERNS) throw new RangeError('the table of masks is full')
    this.#before = [...this.#before, ...old]
    if (patterns.length === 0) this.#now.delete(name)
    else this.#now.set(name, patterns)
  }

  get #count(): number {
    let count = 0
    for (const patterns of this.#now.values()) count += patterns.length
    return count
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

/** A value as it may stand in a text: as it is, and as base64, hex, parts of URLs, JSON and what `console.log` prints of an object. */
export function formsOf(value: string): string[] {
  if (value.length < MASKED_CHARACTERS) return []
  const forms = new Set<string>([value, ...escapedForms(value), ...encodedForms(value)])
  const lines = value.split(/\r?\n/)
  if (lines.length > 1)
    for (const line of lines.slice(0, LINES))
      if (!FRAME.test(line)) for (const form of [line, ...escapedForms(line)]) forms.add(form)
  return [...forms].filter(form => form.length >= MASKED_CHARACTERS)
}

function escapedForms(value: string): string[] {
  const json = JSON.stringify(value).slice(1, -1)
  const ascii = (text: string, upper: boolean): string =>
    text.replace(/[\u007f-\uffff]/g, unit => {
      const hex = unit.charCodeAt(0).toString(16).padStart(4, '0')
      return `\\u${upper ? hex.toUpperCase() : hex}`
    })
  return [
    json,
    json.replaceAll('/', '\\/'),
    ascii(json, false),
    ascii(json, true),
    JSON.stringify(json).slice(1, -1),
    inspect(value, { breakLength: Number.POSITIVE_INFINITY, maxStringLength: null }).slice(1, -1),
    `${value.replaceAll("'", "\\'")}`,
  ]
}

function encodedForms(value: string): string[] {
  const bytes = Buffer.from(value, 'utf8')
  const hex = bytes.toString('hex')
  const url = encodeURIComponent(value)
  const strict = url.replace(/[!'()*]/g, one => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)
  const form = new URLSearchParams([['', value]]).toString().slice(1)
  const urls = [url, strict, form, encodeURI(value)]
  const lower = urls.map(text => text.replace(/%[0-9A-F]{2}/g, one => one.toLowerCase()))
  return [...base64Forms(bytes), hex, hex.toUpperCase(), ...urls, ...lower]
}

/** Wherever the value begins in what is encoded: of each of the three alignments, the characters that depend on nothing else. */
function base64Forms(bytes: Buffer): string[] {
  return [0, 1, 2].flatMap(before => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64')
    const own = text.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6))
    return [own, own.replaceAll('+', '-').replaceAll('/', '_')]
  })
}
