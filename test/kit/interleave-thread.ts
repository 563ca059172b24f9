/** One of the two threads of the interleaving search. It runs its part again for every schedule. */
import { parentPort, workerData } from 'node:worker_threads'
import { joinSearch, leaveSearch, SEARCH } from '../../core/memory/atomics.stepped.ts'
import { attachMemory } from '../../core/memory/region.ts'
import type { Scenario } from './scenario.ts'

const { url, sab, control, results, me } = workerData as {
  url: string
  sab: SharedArrayBuffer
  control: Int32Array
  results: Uint8Array
  me: number
}
const { default: scenario } = (await import(url)) as { default: Scenario }
const memory = attachMemory(sab)
const view = new DataView(results.buffer)
const at = (me * results.length) / 2
parentPort!.postMessage('ready')

for (let runs = 0; ; runs++) {
  Atomics.wait(control, SEARCH.go + me, runs)
  let answer: { answer?: unknown; error?: string }
  let act: () => unknown
  try {
    act = scenario.threads[me]!(memory)
  } catch (error) {
    // Not stepped yet: it is told in its place, or the other one would wait for this thread.
    act = () => {
      throw error
    }
  }
  try {
    joinSearch(control, me)
    answer = { answer: act() ?? null }
  } catch (error) {
    answer = { error: error instanceof Error ? String(error.stack) : String(error) }
  }
  const bytes = Buffer.from(JSON.stringify(answer))
  results.set(bytes, at + 4)
  view.setInt32(at, bytes.length)
  leaveSearch()
}
