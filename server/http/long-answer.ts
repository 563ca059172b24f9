import { nextTurn } from '../watch/slices.ts'
import type { Answer, StreamContent } from './route.ts'

/** JSON text that another thread has made. */
export const jsonBytes = (text: Uint8Array): Answer =>
  text.length > WHOLE_BYTES
    ? { status: 200, stream: inPieces([text]) }
    : { status: 200, content: { type: 'application/json', bytes: text } }

/** Answers up to this length are sent with their head in one write. */
const WHOLE_BYTES = 64 * 1024
/** Bytes written per turn of the event loop: writing 8 MiB at once holds the front for 10 ms. */
const BYTES_AT_ONCE = 1024 * 1024

/** A JSON answer whose text is there already, to be written piece by piece. */
export function inPieces(pieces: readonly Uint8Array[]): StreamContent {
  let length = 0
  for (const piece of pieces) length += piece.length
  return { type: 'application/json', length, chunks: chunks(pieces) }
}

async function* chunks(pieces: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  let written = 0
  for (const piece of pieces) {
    for (let at = 0; at < piece.length; at += BYTES_AT_ONCE) {
      if (written >= BYTES_AT_ONCE) {
        written = 0
        await nextTurn()
      }
      const chunk = piece.subarray(at, at + BYTES_AT_ONCE)
      written += chunk.length
      yield chunk
    }
  }
}
