import { createHash } from 'node:crypto'
import type { VolatileStore } from '../../core/memory/volatile/store.ts'
import { digestOf } from '../../protocol/artifact-names.ts'
import type { ArtifactReference } from '../../protocol/values/dtype.ts'

/**
 * Keeps bytes in the volatile store and answers their reference. Null: another writer keeps the store busy, and nothing was kept. Throws
 * `too_large`. Digesting takes about 1 ms for 1 MB.
 */
export function keepVolatile(
  store: VolatileStore,
  bytes: Uint8Array,
  media_type: string,
  meta?: Readonly<Record<string, unknown>>,
): ArtifactReference | null {
  const digest = createHash('sha256').update(bytes).digest()
  if (!store.put(digest, bytes)) return null
  const reference = { digest: digestOf(digest.toString('hex')), media_type, size: bytes.length }
  return meta === undefined ? reference : { ...reference, meta }
}
