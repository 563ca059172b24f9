import type { ArtifactSweep, StoredArtifact, VerifyLine } from '../../protocol/nouns/artifact.ts'
import type { ArtifactReference } from '../../protocol/values/dtype.ts'
import { type Calls, unanswered } from './calls.ts'
import { type List, readPages } from './pages.ts'
import { linesOf } from './text-lines.ts'
import { type ByteSource, type ByteStream, TransportError } from './transport.ts'

export interface PutArtifact {
  /** `application/octet-stream` when not given. */
  media_type?: string
  /** For the reference; interpreted by nothing. */
  meta?: Record<string, unknown>
  /** Of a source whose length is known: an engine that would refuse it does so before the first byte. */
  length?: number
}

export interface GetArtifact {
  /** The media type to be answered with. */
  media_type?: string
  /** The first byte. */
  from?: number
  /** The last byte; up to the end when not given. */
  to?: number
}

export interface OpenedArtifact {
  stream: ByteStream
  /** Bytes in the stream. */
  length: number
  media_type: string
}

/** JSON that can stand in a header field. */
const asciiJson = (value: unknown): string =>
  JSON.stringify(value).replace(/[^ -~]/g, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** Blobs by the digest of their content. */
export class Artifacts {
  readonly #calls: Calls

  constructor(calls: Calls) {
    this.#calls = calls
  }

  /** Stores the bytes. A source is asked again for each try, so it must begin again each time. */
  async put(
    bytes: Uint8Array | ByteSource,
    { media_type, meta, length }: PutArtifact = {},
  ): Promise<ArtifactReference> {
    const { body } = await this.#calls.json<ArtifactReference>({
      method: 'PUT',
      path: '/artifacts',
      bytes,
      headers: {
        'content-type': media_type ?? 'application/octet-stream',
        ...(meta === undefined ? {} : { 'x-artifact-meta': asciiJson(meta) }),
        ...(length === undefined ? {} : { 'content-length': String(length) }),
      },
    })
    return body
  }

  /** What is in the store, newest first. */
  list(most?: number): Promise<List<StoredArtifact>> {
    return readPages(this.#calls, '/artifacts', {}, most)
  }

  /** Reads every artifact, and tells about every second how far it is and what is damaged; the last line is `done`. */
  async *verify(): AsyncGenerator<VerifyLine, void, undefined> {
    const { body } = await this.#calls.stream({ method: 'POST', path: '/artifacts/verify' })
    try {
      for await (const line of linesOf(body)) yield JSON.parse(line) as VerifyLine
    } catch (error) {
      throw unanswered(new TransportError(error, false), this.#calls.url)
    }
  }

  /** Removes what no run records, no live message names and nobody stored in the last hour. */
  async sweep(): Promise<ArtifactSweep> {
    return (await this.#calls.json<ArtifactSweep>({ method: 'POST', path: '/artifacts/sweep' })).body
  }

  /** `digest` is `sha256:<64 hex digits>`. */
  async get(digest: string, { media_type, from, to }: GetArtifact = {}): Promise<OpenedArtifact> {
    const headers: Record<string, string> = { accept: '*/*' }
    if (from !== undefined || to !== undefined) headers['range'] = `bytes=${from ?? 0}-${to ?? ''}`
    const answer = await this.#calls.stream({
      method: 'GET',
      path: `/artifacts/${encodeURIComponent(digest)}`,
      query: { media_type },
      headers,
    })
    return {
      stream: answer.body,
      length: Number(answer.headers['content-length']),
      media_type: answer.headers['content-type'] ?? 'application/octet-stream',
    }
  }
}
