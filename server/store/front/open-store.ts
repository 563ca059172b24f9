import { FrontMemory } from '../../lanes/front-memory.ts'
import type { Log } from '../../observe/serve-log.ts'
import { Store } from './client.ts'
import type { Loaded } from './replies.ts'

export interface OpenedStore {
  readonly front: FrontMemory
  readonly store: Store
  readonly loaded: Loaded
}

export interface StoreOpening {
  readonly data_dir: string
  readonly log: Log
  /** The machine's clock, milliseconds since 1970; `Date.now` when absent. */
  readonly wall_ms?: () => number
  /** The store thread ended; the process cannot outlive it. */
  readonly onFatal: (error: Error) => void
}

/**
 * Shared memory, and the store thread that loads what is kept. Apart from the rest of the live engine, and with few imports:
 * the thread needs about as long to load as the modules of the front do, so it is started before them.
 */
export async function openStore({ data_dir, log, wall_ms, onFatal }: StoreOpening): Promise<OpenedStore> {
  const front = new FrontMemory(undefined, wall_ms)
  const { store, loaded } = await Store.start({
    data_dir,
    sab: front.memory.sab,
    log: text => log.info('store', { text }),
    onFailed: onFatal,
  })
  return { front, store, loaded }
}
