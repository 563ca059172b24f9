import type { Readable } from 'node:stream'
import type { ArtifactReference } from '../../protocol/dtype.ts'
import type { Calls } from './calls.ts'
import type { ByteSource } from './exchange.ts'

export interface PutArtifact {
  /** `application/octet-stream` when not given. */
  media_type?: string
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
  stream: Readable
  /** Bytes in the stream. */
  length: number
  media_type: string
}

/** Blobs by the digest of their content. */
export class Artifacts {
  readonly #calls: Calls

  constructor(calls: Calls) {
    this.#calls = calls
  }

  /** Stores the bytes. A source is asked again for each try, so it must begin anew each time. */
  async put(bytes: Uint8Array | ByteSource, { media_type, length }: PutArtifact = {}): Promise<ArtifactReference> {
    const { body } = await this.#calls.json<ArtifactReference>({
      method: 'PUT',
      path: '/artifacts',
      bytes,
      headers: {
        'content-type': media_type ?? 'application/octet-stream',
        ...(length === undefined ? {} : { 'content-length': String(length) }),
      },
    })
    return body
  }

  /** `digest` is `sha256:<64 hex digits>`. */
  async get(digest: string, { media_type, from, to }: GetArtifact = {}): Promise<OpenedArtifact> {
    const headers: Record<string, string> = { accept: '*/*' }
    if (from !== undefined || to !== undefined) headers['range'] = `bytes=${from ?? 0}-${to ?? ''}`
    const stream = await this.#calls.stream({
      method: 'GET',
      path: `/artifacts/${encodeURIComponent(digest)}`,
      query: { media_type },
      headers,
    })
    return {
      stream,
      length: Number(stream.headers['content-length']),
      media_type: stream.headers['content-type'] ?? 'application/octet-stream',
    }
  }
}
