import { ServiceError } from '../protocol/errors.ts'
import { limits } from '../protocol/limits.ts'
import type { Steps } from './steps.ts'

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const BACKSLASH = 0x5c
const OPEN_LIST = 0x5b
const CLOSE_LIST = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Null for what is not UTF-8. */
export function textOf(bytes: Uint8Array): string | null {
  try {
    return decoder.decode(bytes)
  } catch {
    return null
  }
}

export const notJson = (msg: string, detail = 'The body is not JSON.'): ServiceError =>
  new ServiceError('malformed_json', detail, { errors: [{ loc: 'body', msg: msg.slice(0, 200) }] })

/** A run of items of up to this many bytes is given to `JSON.parse` at once, which takes a millisecond at most. */
const RUN_BYTES = 8 * 1024
/** The scan yields after this many bytes. */
const SCAN_BYTES = 64 * 1024

/**
 * One large JSON document from bytes, in steps: containers that are longer than a run are taken apart here, and runs of
 * their items go to `JSON.parse`. `most_parts`: members, objects and lists. One object may have `limits.VALUE_PARTS` members: what
 * comes later walks the keys of an object at once (300,000 of them took a second). One list may have `limits.LIST_ITEMS` items: a
 * longer one grows by moving all that it has (4 million numbers took 40 ms). Throws `malformed_json`, `too_deep` or
 * `too_large`.
 */
export function* largeJson(bytes: Uint8Array, most_parts: number): Steps<unknown> {
  const ends = yield* scan(bytes, most_parts)
  const reader = new Reader(bytes, ends)
  return yield* reader.document()
}

/** The ends of containers that are longer than a run, by where they begin. Does not check that brackets match in kind. */
function* scan(bytes: Uint8Array, most_parts: number): Steps<Map<number, number>> {
  const ends = new Map<number, number>()
  const open: number[] = []
  /** Of each open container. */
  const members: number[] = []
  const commas: number[] = []
  let parts = 0
  let inString = false
  let pause = SCAN_BYTES
  for (let at = 0; at < bytes.length; at++) {
    if (at >= pause) {
      pause = at + SCAN_BYTES
      yield
    }
    const byte = bytes[at]!
    if (inString) {
      if (byte === BACKSLASH) at++
      else if (byte === QUOTE) inString = false
    } else if (byte === QUOTE) inString = true
    else if (byte === COLON) {
      parts++
      if (++members[open.length - 1]! > limits.VALUE_PARTS)
        throw new ServiceError('too_large', `An object of the body has more than ${limits.VALUE_PARTS} members.`)
    } else if (byte === COMMA) {
      if (++commas[open.length - 1]! >= limits.LIST_ITEMS)
        throw new ServiceError('too_large', `A list of the body has more than ${limits.LIST_ITEMS} items.`)
    } else if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
      parts++
      members[open.length] = 0
      commas[open.length] = 0
      if (open.push(at) > limits.JSON_DEPTH)
        throw new ServiceError('too_deep', `The body is nested deeper than ${limits.JSON_DEPTH} levels.`)
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) {
      const from = open.pop()
      if (from === undefined) throw notJson('a closing bracket has no opening bracket')
      if (at - from > RUN_BYTES) ends.set(from, at)
    }
    if (parts > most_parts)
      throw new ServiceError('too_large', `The body holds more than ${most_parts} members, objects and lists.`)
  }
  if (inString || open.length > 0) throw notJson('the document ends too early')
  return ends
}

class Reader {
  readonly #bytes: Uint8Array
  readonly #ends: ReadonlyMap<number, number>

  constructor(bytes: Uint8Array, ends: ReadonlyMap<number, number>) {
    this.#bytes = bytes
    this.#ends = ends
  }

  *document(): Steps<unknown> {
    const from = this.#skip(0)
    const end = this.#ends.get(from)
    if (end === undefined) return this.#parse(0, this.#bytes.length)
    if (this.#skip(end + 1) < this.#bytes.length) throw notJson('something follows the document')
    return yield* this.#container(from, end)
  }

  *#container(from: number, end: number): Steps<unknown> {
    const isList = this.#bytes[from] === OPEN_LIST
    if (this.#bytes[end] !== (isList ? CLOSE_LIST : CLOSE_OBJECT)) throw notJson('brackets do not match')
    return isList ? yield* this.#list(from + 1, end) : yield* this.#object(from + 1, end)
  }

  *#list(from: number, end: number): Steps<unknown[]> {
    const items: unknown[] = []
    for (let at = from; ; ) {
      const run = this.#run(at, end)
      if (run.to >= 0 && run.to < end && this.#skip(at) === run.to) throw notJson('nothing stands before a comma')
      if (run.to >= 0) for (const item of this.#parse(at, run.to, '[', ']') as unknown[]) items.push(item)
      if (run.large >= 0) {
        if (run.colon >= 0) throw notJson('a list has no members')
        const close = this.#ends.get(run.large)!
        items.push(yield* this.#container(run.large, close))
        run.next = this.#afterItem(close + 1, end)
      }
      if (run.next < 0) return items
      at = run.next
      if (this.#skip(at) >= end) throw notJson('an item is missing')
      yield
    }
  }

  *#object(from: number, end: number): Steps<Record<string, unknown>> {
    const members: Record<string, unknown> = {}
    for (let at = from; ; ) {
      const run = this.#run(at, end)
      if (run.to >= 0 && run.to < end && this.#skip(at) === run.to) throw notJson('nothing stands before a comma')
      if (run.to >= 0) {
        const some = this.#parse(at, run.to, '{', '}') as Record<string, unknown>
        for (const key of Object.keys(some)) put(members, key, some[key])
      }
      if (run.large >= 0) {
        const close = this.#ends.get(run.large)!
        const key = run.colon < 0 ? null : this.#parse(run.item, run.colon)
        if (typeof key !== 'string') throw notJson('a key is no text')
        put(members, key, yield* this.#container(run.large, close))
        run.next = this.#afterItem(close + 1, end)
      }
      if (run.next < 0) return members
      at = run.next
      if (this.#skip(at) >= end) throw notJson('a member is missing')
      yield
    }
  }

  /**
   * Items from `from` on until they make a run, the container ends, or one of them is a large container. `to`: where the run
   * ends, -1: it has no item; `next`: behind its comma, -1 at the end of the container; `large`: where the large one begins (of the member from `item`,
   * whose colon is at `colon`), -1: none.
   */
  #run(from: number, end: number): { to: number; next: number; large: number; item: number; colon: number } {
    const bytes = this.#bytes
    let depth = 0
    let item = from
    let colon = -1
    let comma = -1
    for (let at = from; at < end; at++) {
      const byte = bytes[at]!
      if (byte === QUOTE) at = this.#endOfText(at, end)
      else if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
        if (depth === 0 && this.#ends.has(at)) {
          if (this.#skip(colon < 0 ? item : colon + 1) !== at) throw notJson('a comma is missing')
          return { to: comma, next: -1, large: at, item, colon }
        }
        depth++
      } else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) depth--
      else if (depth > 0) continue
      else if (byte === COLON && colon < 0) colon = at
      else if (byte === COMMA) {
        if (at - from >= RUN_BYTES) return { to: at, next: at + 1, large: -1, item, colon }
        comma = at
        item = at + 1
        colon = -1
      }
    }
    return { to: end, next: -1, large: -1, item, colon }
  }

  #endOfText(from: number, end: number): number {
    for (let at = from + 1; at < end; at++) {
      if (this.#bytes[at] === BACKSLASH) at++
      else if (this.#bytes[at] === QUOTE) return at
    }
    return end
  }

  /** The position behind the comma after an item that ended before `at`; -1 when the container ends. */
  #afterItem(at: number, end: number): number {
    const next = this.#skip(at)
    if (next >= end) return -1
    if (this.#bytes[next] !== COMMA) throw notJson('a comma is missing')
    return next + 1
  }

  /** The first position from `at` on that is not white space. */
  #skip(at: number): number {
    const bytes = this.#bytes
    while (bytes[at] === 0x20 || bytes[at] === 0x0a || bytes[at] === 0x0d || bytes[at] === 0x09) at++
    return at
  }

  #parse(from: number, to: number, before = '', after = ''): unknown {
    const text = textOf(this.#bytes.subarray(from, to))
    if (text === null) throw new ServiceError('malformed_json', 'The body is not UTF-8.')
    try {
      return JSON.parse(`${before}${text}${after}`)
    } catch (error) {
      throw notJson((error as Error).message)
    }
  }
}

/** As `JSON.parse` does it: a member of the object itself, whatever its key. */
function put(members: Record<string, unknown>, key: string, value: unknown): void {
  if (key !== '__proto__') members[key] = value
  else Object.defineProperty(members, key, { value, enumerable: true, configurable: true, writable: true })
}
