import assert from 'node:assert/strict'
import { parentPort, workerData } from 'node:worker_threads'
import { joinSearch, leaveSearch, SEARCH } from '../../../../core/memory/atomics.stepped.ts'
import { createMemory } from '../../../../core/memory/region.ts'
import { tinySizes } from '../../../kit/memory.ts'
import { checkDeath, type DeathScenario } from './deaths.ts'

const death = (await import(workerData.url)) as DeathScenario
const scenario = death.default
/** A thread of a search that has taken so many steps is stopped by an exception. */
const MOST_STEPS = SEARCH.words - SEARCH.log

/** False when the thread got through. */
function dies(step: number): boolean {
  const memory = createMemory({ ...tinySizes, ...scenario.sizes })
  scenario.prepare?.(memory)
  const act = scenario.threads[0](memory)
  const control = new Int32Array(SEARCH.words)
  control[SEARCH.baton] = 1
  control[SEARCH.stop_at] = -1
  control[SEARCH.step] = MOST_STEPS - step
  joinSearch(control, 0)
  try {
    act()
    return false
  } catch (error) {
    assert.match(String(error), /no end after very many steps/)
  } finally {
    leaveSearch()
  }
  try {
    checkDeath(death, memory, step)
  } catch (error) {
    assert.fail(`died at step ${step}: ${error instanceof Error ? error.stack : error}`)
  }
  return true
}

let step = 0
while (dies(step)) step++
parentPort!.postMessage(step)
