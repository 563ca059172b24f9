import Type from 'typebox'
import { isMediaType } from '../../protocol/artifact-names.ts'
import { type ErrorPlace, ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import { ArtifactSweep, StoredArtifact } from '../../protocol/nouns/artifact.ts'
import { ArtifactReference } from '../../protocol/values/dtype.ts'
import type { Engine } from '../engine.ts'
import { parseJson } from '../http/parse/body.ts'
import { artifactDigest, wholeDigest } from '../http/parse/short-ids.ts'
import { ok, type Route, route } from '../http/route.ts'
import { closed, listOf, okPage, pageQuery } from './queries.ts'

const tag = 'artifacts'
const UNTYPED = 'application/octet-stream'
const META = 'x-artifact-meta'

export function artifactRoutes({ engine: { artifacts } }: { readonly engine: Engine }): Route[] {
  return [
    route({
      method: 'PUT',
      path: '/artifacts',
      scope: 'publish',
      tag,
      summary:
        'Stores the body, of the media type in Content-Type; x-artifact-meta is a JSON object for its reference.',
      upload: true,
      body_limit: artifacts.place.max_bytes === 0 ? Number.MAX_SAFE_INTEGER : artifacts.place.max_bytes,
      headers: [META],
      answers: { 200: ArtifactReference, 201: ArtifactReference },
      refuses: ['bad_media_type', 'disk_full', 'store_failed', 'too_many_connections'],
      handle: async ({ upload, content_type, headers }) => {
        const media_type = mediaTypeOf(content_type === '' ? undefined : content_type)
        const meta = headers[META] === undefined ? undefined : metaOf(headers[META])
        const { digest, size, is_new } = await artifacts.put(upload!, upload!.length)
        const reference: ArtifactReference = { digest, media_type, size, ...(meta === undefined ? {} : { meta }) }
        return { status: is_new ? 201 : 200, body: reference }
      },
    }),
    route({
      method: 'GET',
      path: '/artifacts',
      scope: 'read',
      tag,
      summary: 'Lists the stored artifacts, newest first.',
      query: Type.Object(pageQuery, closed),
      answers: { 200: listOf(StoredArtifact) },
      refuses: ['store_failed'],
      handle: async ({ query }) => okPage(await artifacts.list(query), query.offset),
    }),
    route({
      method: 'GET',
      path: '/artifacts/{digest}',
      scope: 'read',
      object: (reach, { params }) => reach.mayFetch(params.digest),
      tag,
      summary: 'Returns the bytes of an artifact, or ranges of them, with the media type that the request names.',
      params: { digest: artifactDigest },
      query: Type.Object(
        {
          media_type: Type.Optional(
            Type.String({ maxLength: 255, description: `The media type of the answer (default: ${UNTYPED}).` }),
          ),
        },
        closed,
      ),
      headers: ['range', 'if-range', 'if-none-match'],
      answers: { 200: { media: '*/*' }, 206: { media: '*/*' }, 304: null },
      refuses: ['bad_media_type', 'bad_range', 'artifact_damaged', 'artifact_fell_out', 'ambiguous_id'],
      handle: async ({ params, query, headers, head_only, path }) => {
        const media_type = mediaTypeOf(query.media_type)
        return artifacts.answer({
          digest: await wholeDigest(artifacts, params.digest),
          media_type,
          headers,
          head_only,
          path,
        })
      },
    }),
    route({
      method: 'POST',
      path: '/artifacts/verify',
      scope: 'admin',
      tag,
      summary:
        'Reads every artifact and tells which no longer digest to their names: a line about every second, the last `done`.',
      audit: { action: 'artifacts_verified', object: 'artifacts' },
      answers: { 200: { media: 'application/jsonl' } },
      refuses: ['store_failed'],
      handle: () => ({
        status: 200,
        stream: { type: 'application/jsonl', length: null, chunks: linesOf(artifacts.verify()) },
      }),
    }),
    route({
      method: 'POST',
      path: '/artifacts/sweep',
      scope: 'admin',
      tag,
      summary:
        'Removes artifacts that no run and no live message uses, and that are older than an hour or than `ARTIFACTS_KEEP_DAYS`.',
      audit: { action: 'artifacts_swept', object: 'artifacts' },
      answers: { 200: ArtifactSweep },
      refuses: ['store_failed'],
      handle: async () => ok(await artifacts.sweep()),
    }),
  ]
}

function mediaTypeOf(text = UNTYPED): string {
  if (isMediaType(text)) return text
  throw new ServiceError('bad_media_type', `${JSON.stringify(text.slice(0, 80))} is not a media type.`)
}

function metaOf(text: string): Record<string, unknown> {
  const refuse = (msg: string): never => {
    const errors: ErrorPlace[] = [{ loc: `headers.${META}`, msg }]
    throw new ServiceError('validation', 'The header field was refused.', { errors })
  }
  if (text.length > limits.ARTIFACT_META_BYTES) return refuse(`takes at most ${limits.ARTIFACT_META_BYTES} bytes`)
  let meta: unknown
  try {
    meta = parseJson(Buffer.from(text))
  } catch (error) {
    return refuse(error instanceof ServiceError ? error.detail : 'is not JSON')
  }
  if (typeof meta !== 'object' || meta === null || Array.isArray(meta)) return refuse('must be a JSON object')
  return meta as Record<string, unknown>
}

async function* linesOf(items: AsyncIterable<unknown>): AsyncGenerator<Uint8Array> {
  for await (const item of items) yield Buffer.from(`${JSON.stringify(item)}\n`)
}
