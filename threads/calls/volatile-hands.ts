import { threadId } from 'node:worker_threads'
import { recoverVolatile } from '../../core/memory/volatile/recover.ts'
import { attachVolatile, volatileOwner } from '../../core/memory/volatile/region.ts'
import { VolatileStore } from '../../core/memory/volatile/store.ts'
import type { ArtifactPlace, VolatileHands } from './artifact-files.ts'

/** One for all bodies of a thread. */
const hands = new WeakMap<SharedArrayBuffer, VolatileStore>()

/** The access of this thread to the store of the place, or to that of its engine; null where there is neither. */
export function volatileHands({ volatile, engine }: ArtifactPlace): VolatileHands | null {
  return volatile === undefined ? (engine ?? null) : volatileStore(volatile)
}

/** This thread's own. */
export function volatileStore(volatile: SharedArrayBuffer): VolatileStore {
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
