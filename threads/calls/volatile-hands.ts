import { threadId } from 'node:worker_threads'
import { recoverVolatile } from '../../core/memory/volatile/recover.ts'
import { attachVolatile, volatileOwner } from '../../core/memory/volatile/region.ts'
import { VolatileStore } from '../../core/memory/volatile/store.ts'
import type { ArtifactPlace } from './artifact-files.ts'

/** The volatile store as bodies use it: this thread's own hands in it, or those of the engine that a process asks. */
export interface VolatileHands {
  /** False: nothing was kept, and the bytes belong on disk. Throws `too_large`. */
  put(digest: Uint8Array, bytes: Uint8Array): boolean | Promise<boolean>
  /** Null when they are not held. */
  read(digest: Uint8Array): Buffer | null | Promise<Buffer | null>
  hasFallenOut(digest: Uint8Array): boolean | Promise<boolean>
  /** Bytes of the largest artifact that it takes. */
  readonly largest: number
}

/** One for all bodies of a thread. */
const hands = new WeakMap<SharedArrayBuffer, VolatileStore>()

/** This thread's access to the store of the place; null where there is none. */
export function volatileHands({ volatile }: ArtifactPlace): VolatileStore | null {
  if (volatile === undefined) return null
  let known = hands.get(volatile)
  if (known === undefined)
    hands.set(volatile, (known = new VolatileStore(attachVolatile(volatile), volatileOwner(threadId))))
  return known
}

/**
 * The front, when the exit of a thread that had the place is confirmed: what it held in the store is free again. 0: it had not come as
 * far as to say its id.
 */
export function freeVolatile({ volatile }: ArtifactPlace, dead_thread: number): void {
  if (volatile !== undefined && dead_thread !== 0) recoverVolatile(attachVolatile(volatile), volatileOwner(dead_thread))
}
