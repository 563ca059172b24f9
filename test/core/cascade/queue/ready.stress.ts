/**
 * A publisher puts bursts of items into one flow, so that items meet the lane as it comes to the end of the queue; the lane
 * looks at the ready sets without a pause and lets the flow go when it is empty. Forbidden: an item in a free flow that no set
 * marks. Nobody would look at that flow before its next item. The search cannot find this: it runs one thread at a time,
 * and a processor lets a look pass a store that came before it.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isMainThread, parentPort, workerData } from 'node:worker_threads'
import { SHARED_SET, setOf } from '../../../../core/cascade/queue/ready.ts'
import { attachMemory, type Memory } from '../../../../core/memory/region.ts'
import { smallMemory } from '../../../kit/memory.ts'
import { randomFrom, seed } from '../../../kit/random.ts'
import { inWorker } from '../../../kit/workers.ts'
import { emptyItem, float, noteWord, Station } from '../kit/station.ts'

const TIMER = 4
const LANE = 8
const FLOW = 1
const BURSTS = process.env['LONG'] === undefined ? 15_000 : 6_000_000
const LONGEST_GAP = 128
const LOOKED = 0
const STOP = 1

function publish(memory: Memory): { items: number } {
  const { i32 } = memory
  const timer = new Station(memory, TIMER)
  const random = randomFrom(seed)
  const value = float(1)
  const looked = (): number => Atomics.load(i32, noteWord(memory, LOOKED))
  let items = 0
  for (let burst = 0; burst < BURSTS; burst++) {
    for (let left = 1 + Math.floor(random() * 4); left > 0; left--) {
      timer.flows.lockPublish(FLOW, timer.owner)
      assert.ok(timer.queue.append(FLOW, 1, 0, 1, 100, 0, 0, value, 0))
      timer.flows.unlockPublishWithBarrier(FLOW, timer.owner)
      timer.ready.markReady(FLOW)
      items++
      for (let gap = random() * LONGEST_GAP; gap > 0; gap--) Atomics.load(i32, noteWord(memory, STOP))
    }
    // Two looks that found nothing: the second one began when all of the burst was there.
    const since = looked()
    while (timer.flows.queued(FLOW) > 0 && ((looked() - since) | 0) < 2);
    assert.equal(timer.flows.queued(FLOW), 0, `burst ${burst}: work in a free flow and no mark`)
  }
  return { items }
}

/** Sets `LOOKED` one up each time that it finds nothing. */
function run(memory: Memory): void {
  const { i32 } = memory
  const lane = new Station(memory, LANE)
  lane.ready.enterLane(LANE)
  const item = emptyItem()
  while (Atomics.load(i32, noteWord(memory, STOP)) === 0) {
    const own = lane.ready.take(setOf(LANE), 0)
    const flow = own >= 0 ? own : lane.ready.take(SHARED_SET, 0)
    if (flow < 0) Atomics.add(i32, noteWord(memory, LOOKED), 1)
    else if (!lane.flows.claim(flow, lane.owner)) lane.ready.markReady(flow)
    else {
      while (lane.queue.take(flow, item));
      lane.flows.release(flow, lane.owner)
      if (lane.queue.length(flow) > 0) lane.ready.markReady(flow)
    }
  }
}

if (isMainThread) {
  test(`a burst that meets the end of the last one is marked or taken (SEED=${seed})`, async t => {
    const memory = smallMemory()
    const threads = ['publish', 'run'].map(role => inWorker(import.meta.url, { role, sab: memory.sab }))
    try {
      const { items } = (await Promise.race(threads.map(({ answer }) => answer))) as { items: number }
      t.diagnostic(`${items} items in ${BURSTS} bursts`)
      assert.ok(items > BURSTS)
    } finally {
      await Promise.all(threads.map(({ worker }) => worker.terminate()))
    }
  })
} else {
  const { role, sab } = workerData as { role: string; sab: SharedArrayBuffer }
  const memory = attachMemory(sab)
  parentPort!.postMessage(role === 'publish' ? publish(memory) : run(memory))
}
