import type { Steps } from './steps.ts'

/** Containers down to here are taken apart: an answer, its list, an item of it, and what that holds. */
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
  if (typeof value !== 'object' || value === null || depth === 0) {
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
    if (typeof item === 'string') characters += item.length
    end++
  }
  return end
}
