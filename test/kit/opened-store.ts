/** The writing side of the store in the test's own thread, fed by hand. */
import assert from 'node:assert/strict'
import { type StoreBounds, storeBounds } from '../../server/store/file/bounds.ts'
import type { Damage } from '../../server/store/front/replies.ts'
import { EngineStore } from '../../server/store/writer/engine-store.ts'

export const opened = (
  data_dir: string,
  bounds: Partial<StoreBounds> = {},
  clock = () => Date.now() * 1000,
  onDamage: (damage: Damage) => void = damage => assert.fail(JSON.stringify(damage)),
): EngineStore =>
  new EngineStore({
    data_dir,
    bounds: { ...storeBounds, ...bounds },
    messages: 64,
    clock,
    readPort: () => {},
    onHealth: () => {},
    onDamage,
    log: text => assert.fail(text),
  })

/** The same, where faults of the disk are part of the test: what it logs of them is of no interest. */
export const openedQuietly = (
  data_dir: string,
  bounds: Partial<StoreBounds>,
  onDamage: (damage: Damage) => void,
): EngineStore =>
  new EngineStore({
    data_dir,
    bounds: { ...storeBounds, ...bounds },
    messages: 64,
    clock: () => Date.now() * 1000,
    readPort: () => {},
    onHealth: () => {},
    onDamage,
    log: () => {},
  })

/** All upkeep that is due. */
export function settle(store: EngineStore): void {
  for (let i = 0; i < 10_000 && store.upkeep.step(); i++);
}
