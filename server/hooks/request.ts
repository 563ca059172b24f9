import { textOf } from '../../core/large-json.ts'
import { isMediaType } from '../../protocol/artifact-names.ts'
import { ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import type { ArtifactReference, Dtype } from '../../protocol/values/dtype.ts'
import type { Artifacts } from '../artifacts/artifacts.ts'
import { isForm, parseForm, parseJson } from '../http/parse/body.ts'
import { parseLargeJson } from '../http/parse/large-json.ts'
import { decodeForm } from '../http/parse/query.ts'

/** A request to a hook, as it came. */
export interface HookRequest {
  readonly flow: string
  readonly node: string
  readonly query: string
  /** Names in lower case; values of one name joined by commas. */
  readonly headers: Readonly<Record<string, string>>
  readonly content_type: string
  readonly body: Uint8Array
}

/** Parameters by name; a list where one is given several times. Throws `validation`. */
export function queryOf(query: string): Record<string, string | string[]> {
  const values = new Map<string, string | string[]>()
  for (const pair of query.split('&')) {
    if (pair === '') continue
    const equals = pair.indexOf('=')
    const name = decodeForm(equals < 0 ? pair : pair.slice(0, equals))
    const value = equals < 0 ? '' : decodeForm(pair.slice(equals + 1))
    if (name === null || value === null)
      throw new ServiceError('validation', 'The query was refused.', {
        errors: [{ loc: 'query', msg: 'is not percent-encoded UTF-8' }],
      })
    const before = values.get(name)
    if (Array.isArray(before)) before.push(value)
    else values.set(name, before === undefined ? value : [before, value])
  }
  return Object.fromEntries(values)
}

/**
 * The body as a value of the dtype. JSON, forms (an object of texts) and texts for json; text for str; an artifact of whatever bytes. Throws
 * `malformed_json`, `too_deep`, `too_large`, `validation` or `unsupported_media_type`.
 */
export async function bodyOf(request: HookRequest, dtype: Dtype, artifacts: Pick<Artifacts, 'put'>): Promise<unknown> {
  const { body, content_type } = request
  const media = content_type.split(';', 1)[0]!.trim().toLowerCase()
  if (dtype === 'artifact' || dtype === 'image' || dtype === 'audio' || dtype === 'video')
    return stored(body, media, artifacts)
  if (body.length > limits.BODY_BYTES) throw tooLarge(limits.BODY_BYTES)
  if (dtype === 'str') return utf8(body)
  if (body.length === 0) return null
  if (isForm(content_type)) {
    if (body.length > limits.HOOK_FORM_BYTES) throw tooLarge(limits.HOOK_FORM_BYTES)
    return parseForm(body)
  }
  if (media === '' || media === 'application/json' || media.endsWith('+json'))
    return body.length > limits.BODY_AT_ONCE_BYTES ? parseLargeJson(body, limits.VALUE_PARTS) : parseJson(body)
  if (media.startsWith('text/')) return utf8(body)
  throw new ServiceError(
    'unsupported_media_type',
    `A body of type ${JSON.stringify(media.slice(0, 80))} is not taken here: send JSON, a form or text.`,
  )
}

async function stored(body: Uint8Array, media: string, artifacts: Pick<Artifacts, 'put'>): Promise<ArtifactReference> {
  const media_type = media === '' ? 'application/octet-stream' : media
  if (!isMediaType(media_type)) throw new ServiceError('bad_media_type')
  const { digest, size } = await artifacts.put(inPieces(body), body.length)
  return { digest, media_type, size }
}

/** In shared memory, as an upload brings them: the thread of the artifacts reads a piece without another copy. */
async function* inPieces(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  const memory = new Uint8Array(new SharedArrayBuffer(Math.min(bytes.length, limits.UPLOAD_PIECE_BYTES)))
  for (let at = 0; at < bytes.length; at += memory.length) {
    const piece = bytes.subarray(at, at + memory.length)
    memory.set(piece)
    yield memory.subarray(0, piece.length)
  }
}

function utf8(body: Uint8Array): string {
  const text = textOf(body)
  if (text !== null) return text
  throw new ServiceError('validation', 'The body was refused.', { errors: [{ loc: 'body', msg: 'is not UTF-8' }] })
}

const tooLarge = (most: number): ServiceError =>
  new ServiceError('too_large', `The body is larger than the ${most} bytes allowed here.`)
