import type { Memory } from '../../../../core/memory/region.ts'
import { killAtEachStep } from '../../../kit/interleave.ts'
import type { Scenario } from '../../../kit/scenario.ts'

/** A scenario whose first thread dies, and what must hold after its death: recovery is part of it. */
export interface DeathScenario {
  default: Scenario
  afterDeath(memory: Memory): void
}

/**
 * Ends the first thread of the scenario at each of its steps; answers at how many.
 *
 * A thread really ends at a function entry or at a loop's turn, never between an atomic operation and the plain code right
 * behind it. The search has a step there as well, the odd ones. They are worth a look, since plain code further on may
 * contain such places, but a reference of a slab may then be counted and not yet noted.
 */
export async function dieAtEachStep(url: URL): Promise<number> {
  const { afterDeath } = (await import(url.href)) as DeathScenario
  return killAtEachStep(url, (memory, step) => {
    try {
      afterDeath(memory)
    } catch (error) {
      if (step % 2 === 0 || !/slab/.test(String(error))) throw error
    }
  })
}
