import type { Steps } from './steps.ts'

/** Containers down to here are taken apart: an answer, its list, an item of it, and what that holds. Below, long ones alone. */
const DEPTH = 4
/** Text of about this length becomes one piece. */
const PIECE = 64 * 1024
/** Items of a list that are no containers are written so many at a time. */
const RUN = 1_024

/**
 * `JSON.stringify` of plain data, as UTF-8 in pieces, in steps of a part each: a flow of 8 MiB takes 60 ms. Nothing in it
 * handles the text as a whole: joining and encoding 8 MiB takes longer than a slice. Of what has no JSON there is no piece.
 */
export function* jsonSteps(value: unknown): Steps<Uint8Array[]> {
  const pieces = new Pieces<Uint8Array>(text => Buffer.from(text))
  yield* write(value, DEPTH, '', pieces)
  return pieces.end()
}

/** The same as one text, for what is given to another thread. */
export function* jsonTextSteps(value: unknown): Steps<string> {
  const pieces = new Pieces<string>(text => text)
  yield* write(value, DEPTH, '', pieces)
  yield
  return pieces.end().join('')
}

/** The pieces of that text, of about 64 KiB each. */
export function* jsonPieces(value: unknown): Steps<string[]> {
  const pieces = new Pieces<string>(text => text)
  yield* write(value, DEPTH, '', pieces)
  return pieces.end()
}

/** JSON of more than this, about, is made in slices: a result of 16 MiB takes some hundred milliseconds. */
const AT_ONCE = 32 * 1024

/** Looks no further than it must. */
export const isLongJson = (value: unknown): boolean => jsonWeight(value, AT_ONCE) > AT_ONCE

/** About as much as its JSON has characters, as far as that is not more than `most`. */
export function jsonWeight(value: unknown, most: number): number {
  let left = most
  const weigh = (one: unknown): void => {
    left -= typeof one === 'string' ? one.length : 8
    if (left < 0 || typeof one !== 'object' || one === null) return
    if (Array.isArray(one)) {
      for (let at = 0; at < one.length && left >= 0; at++) weigh(one[at])
      return
    }
    for (const key in one) {
      if (left < 0) return
      weigh((one as Record<string, unknown>)[key])
    }
  }
  weigh(value)
  return most - left
}

class Pieces<Piece> {
  readonly #pieceOf: (text: string) => Piece
  readonly #done: Piece[] = []
  #text = ''

  constructor(pieceOf: (text: string) => Piece) {
    this.#pieceOf = pieceOf
  }

  add(text: string): void {
    this.#text += text
    if (this.#text.length >= PIECE) this.#flush()
  }

  end(): Piece[] {
    if (this.#text !== '') this.#flush()
    return this.#done
  }

  #flush(): void {
    this.#done.push(this.#pieceOf(this.#text))
    this.#text = ''
  }
}

/** `before` is what stands before the value, if it has a text. Answers whether it has. */
function* write(value: unknown, depth: number, before: string, to: Pieces<unknown>): Steps<boolean> {
  if (typeof value === 'string' && value.length > PIECE) {
    to.add(before)
    yield* writeText(value, to)
    return true
  }
  if (typeof value !== 'object' || value === null || (depth <= 0 && !isLongJson(value))) {
    const text: string | undefined = JSON.stringify(value)
    if (text === undefined) return false
    to.add(before)
    to.add(text)
    return true
  }
  if (Array.isArray(value)) yield* writeList(value, depth, before, to)
  else yield* writeObject(value as Record<string, unknown>, depth, before, to)
  return true
}

/** No part of it ends between the halves of a character: JSON escapes a half that stands alone. */
function* writeText(text: string, to: Pieces<unknown>): Steps<void> {
  to.add('"')
  for (let at = 0; at < text.length; ) {
    let end = Math.min(at + PIECE, text.length)
    if (end < text.length && (text.charCodeAt(end - 1) & 0xfc00) === 0xd800) end--
    to.add(JSON.stringify(text.slice(at, end)).slice(1, -1))
    at = end
    yield
  }
  to.add('"')
}

function* writeList(list: readonly unknown[], depth: number, before: string, to: Pieces<unknown>): Steps<void> {
  to.add(`${before}[`)
  for (let at = 0; at < list.length; ) {
    const comma = at > 0 ? ',' : ''
    const end = endOfRun(list, at)
    if (end > at) to.add(comma + JSON.stringify(list.slice(at, end)).slice(1, -1))
    else yield* write(list[at], depth - 1, comma, to)
    at = Math.max(end, at + 1)
    yield
  }
  to.add(']')
}

function* writeObject(
  object: Record<string, unknown>,
  depth: number,
  before: string,
  to: Pieces<unknown>,
): Steps<void> {
  to.add(`${before}{`)
  let comma = ''
  for (const key of Object.keys(object)) {
    if (yield* write(object[key], depth - 1, `${comma}${JSON.stringify(key)}:`, to)) comma = ','
    yield
  }
  to.add('}')
}

/** Behind the items from `at` on that are no containers: so many that they make a piece. */
function endOfRun(list: readonly unknown[], at: number): number {
  const most = Math.min(list.length, at + RUN)
  let characters = 0
  let end = at
  while (end < most && characters < PIECE) {
    const item = list[end]
    if (typeof item === 'object' && item !== null) break
    if (typeof item === 'string') {
      if (item.length > PIECE) break
      characters += item.length
    }
    end++
  }
  return end
}
