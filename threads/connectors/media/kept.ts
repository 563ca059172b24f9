import { ServiceError } from '../../../protocol/errors.ts'
import type { ArtifactReference } from '../../../protocol/values/dtype.ts'
import type { ConnectorHost } from '../connector.ts'

/** Bytes of a frame or a chunk. Of several nodes that read them, the first one puts them into the store. */
export class Kept {
  readonly #bytes: Uint8Array
  readonly #media_type: string
  readonly #meta: Readonly<Record<string, unknown>>
  #reference: ArtifactReference | null = null

  /** The bytes need to be there only until every listener had the item. */
  constructor(bytes: Uint8Array, media_type: string, meta: Readonly<Record<string, unknown>>) {
    this.#bytes = bytes
    this.#media_type = media_type
    this.#meta = meta
  }

  /** Synchronous. What the store does not take is counted, or an error of the node. */
  publish(host: ConnectorHost, publish: (reference: ArtifactReference) => void): void {
    try {
      this.#reference ??= host.volatile(this.#bytes, this.#media_type, this.#meta)
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error
      return host.failed(error.code, error.detail)
    }
    if (this.#reference === null) host.dropped('store_busy', 1)
    else publish(this.#reference)
  }
}
