import { close, read } from 'node:fs'
import { digestOf, hexOf, isMediaType } from '../../protocol/artifact-names.ts'
import { ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import { describe } from '../../protocol/values/describe.ts'
import type { ArtifactReference } from '../../protocol/values/dtype.ts'
import { Budget, refuseUnlessJson } from '../../protocol/values/json-like.ts'
import { type ArtifactPlace, ArtifactWriter, openArtifact } from './artifact-files.ts'

/** What a body may store: bytes, a text (as UTF-8), or a stream of those. */
export type ArtifactContent =
  | string
  | ArrayBuffer
  | ArrayBufferView
  | AsyncIterable<string | ArrayBuffer | ArrayBufferView>
  | Iterable<string | ArrayBuffer | ArrayBufferView>

/** The longest read that a thread pool takes at once. */
const READ_BYTES = 2 ** 30

/** `ctx.artifact`: on disk when it resolves. `node` is named in refusals. */
export async function storeArtifact(
  place: ArtifactPlace,
  node: string,
  content: unknown,
  media_type: unknown,
  meta: unknown,
): Promise<ArtifactReference> {
  if (typeof media_type !== 'string' || !isMediaType(media_type))
    throw new ServiceError('bad_media_type', `ctx.artifact of ${node} got ${describe(media_type)}.`)
  const kept = meta === undefined ? {} : { meta: metaOf(meta, node) }
  const parts = partsOf(content, node)
  const writer = await ArtifactWriter.begin(place)
  try {
    // A copy, piece by piece: the body may keep writing to its memory, but the digest must match the written bytes.
    const piece = Buffer.allocUnsafeSlow(limits.STREAM_CHUNK_BYTES)
    for await (const part of parts) {
      const bytes = bytesOf(part, node)
      for (let at = 0; at < bytes.length; at += piece.length) {
        const length = bytes.copy(piece, 0, at, Math.min(bytes.length, at + piece.length))
        await writer.write(piece.subarray(0, length))
      }
    }
  } catch (error) {
    await writer.drop()
    throw error
  }
  const { hex, size } = await writer.finish()
  return { digest: digestOf(hex), media_type, size, ...kept }
}

/** `ctx.read`: all bytes of a stored artifact. Refuses with `artifact_not_found` and, when its size is not that of the reference, `artifact_damaged`. */
export async function readArtifact(place: ArtifactPlace, node: string, reference: unknown): Promise<Buffer> {
  const { digest, size } = (typeof reference === 'object' && reference !== null ? reference : {}) as ArtifactReference
  const hex = hexOf(digest)
  if (hex === null) throw new ServiceError('bad_artifact', `ctx.read of ${node} got ${describe(reference)}.`)
  const found = openArtifact(place.folder, hex)
  if (found === null) throw new ServiceError('artifact_not_found', `${node} reads ${digest}, which is not stored.`)
  try {
    if (size !== undefined && size !== found.size)
      throw new ServiceError('artifact_damaged', `${digest} has ${found.size} bytes, and its reference says ${size}.`)
    const bytes = Buffer.allocUnsafeSlow(found.size)
    for (let at = 0; at < bytes.length; ) {
      const got = await readInto(found.file, bytes, at)
      if (got === 0) throw new ServiceError('artifact_damaged', `${digest} ends at byte ${at} of ${bytes.length}.`)
      at += got
    }
    return bytes
  } finally {
    close(found.file)
  }
}

function readInto(file: number, bytes: Buffer, at: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const length = Math.min(READ_BYTES, bytes.length - at)
    read(file, bytes, at, length, at, (error, got) => (error ? reject(error) : resolve(got)))
  })
}

function metaOf(meta: unknown, node: string): Record<string, unknown> {
  const refuse = (text: string): never => {
    throw new ServiceError('bad_artifact', `The meta of an artifact of ${node}: ${text}.`)
  }
  if (typeof meta !== 'object' || meta === null || Array.isArray(meta))
    return refuse(`expected an object, got ${describe(meta)}`)
  const refusal = refuseUnlessJson(meta, new Budget(limits.ARTIFACT_META_BYTES))
  if (refusal !== null) return refuse(refusal.text)
  if (Buffer.byteLength(JSON.stringify(meta)) > limits.ARTIFACT_META_BYTES)
    return refuse(`more than ${limits.ARTIFACT_META_BYTES} bytes`)
  return meta as Record<string, unknown>
}

function partsOf(content: unknown, node: string): AsyncIterable<unknown> | Iterable<unknown> {
  if (isBytes(content) || typeof content === 'string') return [content]
  if (typeof content === 'object' && content !== null) {
    if (Symbol.asyncIterator in content) return content as AsyncIterable<unknown>
    if (Symbol.iterator in content) return content as Iterable<unknown>
  }
  throw notBytes(content, node)
}

const isBytes = (content: unknown): content is ArrayBufferView | ArrayBufferLike =>
  ArrayBuffer.isView(content) || content instanceof ArrayBuffer || content instanceof SharedArrayBuffer

function bytesOf(part: unknown, node: string): Buffer {
  if (typeof part === 'string') return Buffer.from(part)
  if (ArrayBuffer.isView(part)) return Buffer.from(part.buffer, part.byteOffset, part.byteLength)
  if (isBytes(part)) return Buffer.from(part as ArrayBuffer)
  throw notBytes(part, node)
}

const notBytes = (content: unknown, node: string): ServiceError =>
  new ServiceError(
    'bad_artifact',
    `ctx.artifact of ${node} got ${describe(content)}, not bytes, a text or a stream of them.`,
  )
