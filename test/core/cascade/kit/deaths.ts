import { Worker } from 'node:worker_threads'
import type { Memory } from '../../../../core/memory/region.ts'
import type { Scenario } from '../../../kit/scenario.ts'

/** A scenario whose first thread dies, and what must hold after the front has recovered it. */
export interface DeathScenario {
  default: Scenario
  afterDeath(memory: Memory): void
}

/**
 * Checks the state after a death at `step`. A thread really ends at a function entry or at a loop's turn, never between an
 * atomic operation and the plain code right behind it; the steppers have a step there as well, the odd ones. They are worth
 * a look, since plain code further on may contain such places, but a reference of a slab may then be counted and not yet noted.
 */
export function checkDeath({ afterDeath }: DeathScenario, memory: Memory, step: number): void {
  try {
    afterDeath(memory)
  } catch (error) {
    if (step % 2 === 0 || !/slab/.test(String(error))) throw error
  }
}

/**
 * Lets the first thread of the scenario die at its first step, its second, and so on until it gets through; answers at how
 * many. Death is an exception out of the atomic operation, which nothing in core catches: thousands of deaths a second,
 * where `killAtEachStep` of the interleaving kit ends a real thread for each.
 */
export async function dieAtEachStep(url: URL): Promise<number> {
  const worker = new Worker(new URL('./death-thread.ts', import.meta.url), {
    execArgv: ['--conditions=interleave', '--disable-warning=ExperimentalWarning'],
    workerData: { url: url.href },
  })
  try {
    return await new Promise<number>((resolve, reject) => {
      worker.once('message', resolve)
      worker.once('error', reject)
    })
  } finally {
    await worker.terminate()
  }
}
