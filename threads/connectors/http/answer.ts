import type { IncomingMessage } from 'node:http'
import { pipeline, type Transform } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import { largeJson } from '../../../core/large-json.ts'
import { ServiceError } from '../../../protocol/errors.ts'
import { limits } from '../../../protocol/limits.ts'
import { inSlices } from '../../slices.ts'
import { WebFailure } from './failure.ts'

const DECODERS: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
}

/** The body, unpacked: at most `most` bytes, counted after unpacking. What is not read to its end is let go. */
export async function* bodyOf(message: IncomingMessage, most: number): AsyncGenerator<Uint8Array> {
  const encoding = (message.headers['content-encoding'] ?? '').trim().toLowerCase()
  const decoder = Object.hasOwn(DECODERS, encoding) ? DECODERS[encoding]! : null
  if (decoder === null && encoding !== '' && encoding !== 'identity') {
    message.destroy()
    throw new WebFailure(`answers in the encoding "${encoding.slice(0, 40)}", which is not known here`)
  }
  // An error of either stream is thrown by the one that is read.
  const stream = decoder === null ? message : pipeline(message, decoder(), () => {})
  let bytes = 0
  try {
    for await (const part of stream) {
      bytes += (part as Uint8Array).length
      if (bytes > most) throw new WebFailure(`answers more than ${most} bytes`)
      yield part as Uint8Array
    }
  } finally {
    stream.destroy()
    message.destroy()
  }
}

export async function wholeBody(message: IncomingMessage): Promise<Buffer> {
  const parts: Uint8Array[] = []
  for await (const part of bodyOf(message, limits.WEB_ANSWER_BYTES)) parts.push(part)
  return Buffer.concat(parts)
}

/** Without parameters; empty when there is none. */
export const mediaOf = (message: IncomingMessage): string =>
  (message.headers['content-type'] ?? '').split(';', 1)[0]!.trim().toLowerCase()

export function textOf(message: IncomingMessage, bytes: Uint8Array): string {
  const charset = /;\s*charset="?([^\s;"]+)/i.exec(message.headers['content-type'] ?? '')?.[1] ?? 'utf-8'
  try {
    return new TextDecoder(charset).decode(bytes)
  } catch {
    return new TextDecoder().decode(bytes)
  }
}

/** A long one is read in slices: the other nodes have their turns in between. */
export async function jsonOf(message: IncomingMessage, bytes: Uint8Array): Promise<unknown> {
  const text = textOf(message, bytes)
  try {
    return text.length > limits.BODY_AT_ONCE_BYTES ? await longJson(Buffer.from(text)) : JSON.parse(text)
  } catch (error) {
    if (error instanceof WebFailure) throw error
    const media = mediaOf(message)
    throw new WebFailure(bytes.length === 0 ? 'answers nothing' : `answers ${media || 'something'} that is not JSON`)
  }
}

async function longJson(bytes: Uint8Array): Promise<unknown> {
  try {
    return await inSlices(largeJson(bytes, Number.POSITIVE_INFINITY))
  } catch (error) {
    const code = error instanceof ServiceError ? error.code : null
    if (code === 'too_deep') throw new WebFailure(`answers JSON nested deeper than ${limits.JSON_DEPTH} levels`)
    if (code !== 'too_large') throw error
    throw new WebFailure(
      `answers JSON with an object of more than ${limits.VALUE_PARTS} members, or a list of more than ${limits.LIST_ITEMS} items`,
    )
  }
}
