import type { ReadValue } from '../../core/memory/messages.ts'
import { limits } from '../../protocol/limits.ts'
import { newEncoded } from '../../protocol/values/codec.ts'
import { KIND } from '../../protocol/values/encoded.ts'
import type { FrontMemory } from '../lanes/front-memory.ts'
import type { MessageMap } from './message-map.ts'

const MARK = Buffer.from('sha256:')
const HEX_CHARACTERS = 64
const HEX = /^[0-9a-f]{64}$/

/**
 * The digests that live messages name in their latest values. Nothing is decoded: a digest is looked for in the bytes, wherever it
 * stands, so one in a text counts as well; that errs on the side of keeping. The event loop has its turn in between.
 */
export async function heldArtifacts(front: FrontMemory, map: MessageMap): Promise<Set<string>> {
  const held = new Set<string>()
  const value: ReadValue = { ...newEncoded(), version: 0, ts: 0 }
  let pause_ms = performance.now() + limits.FRONT_SLICE_MS
  for (const message of [...map.all()]) {
    if (performance.now() > pause_ms) {
      await new Promise(resolve => setImmediate(resolve))
      pause_ms = performance.now() + limits.FRONT_SLICE_MS
    }
    if (!front.messages.read(message.index, value)) continue
    if (value.kind === KIND.json || value.kind === KIND.str) findDigests(value.bytes.subarray(0, value.length), held)
  }
  return held
}

function findDigests(bytes: Buffer, found: Set<string>): void {
  for (let at = bytes.indexOf(MARK); at >= 0; at = bytes.indexOf(MARK, at + 1)) {
    const from = at + MARK.length
    const hex = bytes.toString('latin1', from, from + HEX_CHARACTERS)
    if (HEX.test(hex)) found.add(`sha256:${hex}`)
  }
}
