import { createHash } from 'node:crypto'
import { close, read } from 'node:fs'
import { tooLargeForVolatile } from '../../core/memory/volatile/store.ts'
import { digestOf, hexOf, isMediaType } from '../../protocol/artifact-names.ts'
import { ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import { describe } from '../../protocol/values/describe.ts'
import type { ArtifactReference } from '../../protocol/values/dtype.ts'
import { Budget, refuseUnlessJson } from '../../protocol/values/json-like.ts'
import { type ArtifactPlace, ArtifactWriter, absent, openArtifact } from './artifact-files.ts'
import { volatileHands, volatileStore } from './volatile-hands.ts'

/** What a body may store: bytes, a text (as UTF-8), or a stream of those. */
export type ArtifactContent =
  | string
  | ArrayBuffer
  | ArrayBufferView
  | AsyncIterable<string | ArrayBuffer | ArrayBufferView>
  | Iterable<string | ArrayBuffer | ArrayBufferView>

/** The longest read that a thread pool takes at once. */
const READ_BYTES = 2 ** 30

/** `ctx.artifact`: on disk when it resolves, or in the volatile store. `node` is named in refusals. */
export async function storeArtifact(
  place: ArtifactPlace,
  node: string,
  content: unknown,
  media_type: unknown,
  { meta, volatile = false }: { meta?: unknown; volatile?: unknown },
): Promise<ArtifactReference> {
  if (typeof volatile !== 'boolean')
    throw new ServiceError(
      'bad_artifact',
      `"volatile" of an artifact of ${node} is ${describe(volatile)}, not a boolean.`,
    )
  if (typeof media_type !== 'string' || !isMediaType(media_type))
    throw new ServiceError('bad_media_type', `ctx.artifact of ${node} got ${describe(media_type)}.`)
  const kept = meta === undefined ? {} : { meta: metaOf(meta, node) }
  const hands = volatile ? volatileHands(place) : null
  if (hands !== null) {
    const bytes = await gathered(content, node, hands.largest)
    const digest = createHash('sha256').update(bytes).digest()
    if (await hands.put(digest, bytes))
      return { digest: digestOf(digest.toString('hex')), media_type, size: bytes.length, ...kept }
    // Its lock could not be had in time: the disk keeps it, and the reference says the same.
    content = bytes
  }
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

/**
 * `ctx.keep`: a volatile artifact is on disk when it resolves; one that is there already stays there. Refuses with `artifact_not_found` and
 * `artifact_fell_out`.
 */
export async function keepArtifact(place: ArtifactPlace, node: string, reference: unknown): Promise<ArtifactReference> {
  const hex = hexOfReference(reference, node, 'keep')
  const held = await volatileHands(place)?.read(Buffer.from(hex, 'hex'))
  if (held) await storeBytes(place, held)
  else {
    const found = openArtifact(place.folder, hex)
    if (found === null) throw await absentArtifact(place, hex)
    close(found.file)
  }
  return reference as ArtifactReference
}

/** On disk when it resolves. */
export async function storeBytes(place: ArtifactPlace, bytes: Uint8Array): Promise<void> {
  const writer = await ArtifactWriter.begin(place)
  try {
    await writer.write(bytes)
  } catch (error) {
    await writer.drop()
    throw error
  }
  await writer.finish()
}

/**
 * `ctx.read`: all bytes of an artifact. Refuses with `artifact_not_found`, `artifact_fell_out` and, when its size is not that of the reference,
 * `artifact_damaged`.
 */
export async function readArtifact(place: ArtifactPlace, node: string, reference: unknown): Promise<Buffer> {
  const hex = hexOfReference(reference, node, 'read')
  const { digest, size } = reference as ArtifactReference
  const key = Buffer.from(hex, 'hex')
  const refuseUnlessWhole = (found: number): void => {
    if (size !== undefined && size !== found)
      throw new ServiceError('artifact_damaged', `${digest} has ${found} bytes, and its reference says ${size}.`)
  }
  const { volatile } = place
  const here = volatile === undefined ? null : volatileStore(volatile).read(key)
  if (here !== null) {
    refuseUnlessWhole(here.length)
    return here
  }
  const found = openArtifact(place.folder, hex)
  if (found === null) {
    // A process asks its engine for what is not on the disk.
    const held = await place.engine?.read(key)
    if (!held) throw await absentArtifact(place, hex)
    refuseUnlessWhole(held.length)
    return held
  }
  try {
    refuseUnlessWhole(found.size)
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

function hexOfReference(reference: unknown, node: string, what: string): string {
  const { digest } = (typeof reference === 'object' && reference !== null ? reference : {}) as ArtifactReference
  const hex = hexOf(digest)
  if (hex === null) throw new ServiceError('bad_artifact', `ctx.${what} of ${node} got ${describe(reference)}.`)
  return hex
}

async function absentArtifact(place: ArtifactPlace, hex: string): Promise<ServiceError> {
  return absent(digestOf(hex), (await volatileHands(place)?.hasFallenOut(Buffer.from(hex, 'hex'))) ?? false)
}

/** All bytes in one piece: those of the body itself when they are. At most `most` and a part. */
async function gathered(content: unknown, node: string, most: number): Promise<Buffer> {
  if (typeof content === 'string' || isBytes(content)) return bytesOf(content, node)
  const parts: Buffer[] = []
  let size = 0
  for await (const part of partsOf(content, node)) {
    // A copy: a stream may use its memory again.
    parts.push(Buffer.from(bytesOf(part, node)))
    size += parts.at(-1)!.length
    if (size > most) throw tooLargeForVolatile(most)
  }
  return Buffer.concat(parts)
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
