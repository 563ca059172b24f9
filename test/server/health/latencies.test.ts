import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { bucketOf } from '../../../core/memory/buckets.ts'
import { NODE_ROW, NodeCounters } from '../../../core/memory/counters.ts'
import { Latencies } from '../../../server/health/latencies.ts'
import { countExecution, countWire, timesOf } from '../../kit/execution-times.ts'
import { smallMemory } from '../../kit/memory.ts'

const NODE = { node: 3 }
const WIRE = { wire: 2 }
const MS = 1e6

function measuring() {
  const memory = smallMemory()
  const counters = new NodeCounters(memory)
  let now_us = 0
  const latencies = new Latencies({ counters, rows: () => [NODE, WIRE], now_us: () => (now_us += 60e6) })
  return { memory, counters, latencies }
}

const near = (found: number | undefined, expected_s: number): void =>
  assert.ok(Math.abs(Math.log(found! / expected_s)) < 0.13, `${found} for ${expected_s}`)

describe('latencies', () => {
  test('since the start are of all executions, those of the last minute of that minute alone', async () => {
    const { counters, latencies } = measuring()
    assert.deepEqual(latencies.sinceStart(NODE), { wait: null, execution: null, total: null })
    assert.equal(latencies.lastMinute(NODE), null, 'no minute has closed')
    for (let i = 0; i < 90; i++) countExecution(counters, 3, timesOf(1 * MS, 2 * MS, 3 * MS))
    await latencies.closeMinute()
    for (let i = 0; i < 10; i++) countExecution(counters, 3, timesOf(100 * MS, 200 * MS, 300 * MS))
    near(latencies.lastMinute(NODE)!.execution?.p99_s, 0.002)
    await latencies.closeMinute()
    const minute = latencies.lastMinute(NODE)!
    assert.equal(minute.total!.count, 10)
    near(minute.wait?.p50_s, 0.1)
    near(minute.execution?.p50_s, 0.2)
    near(minute.total?.p50_s, 0.3)
    const all = latencies.sinceStart(NODE).wait!
    assert.equal(all.count, 100)
    near(all.p50_s, 0.001)
    near(all.p90_s, 0.001)
    near(all.p99_s, 0.1)
    assert.ok(Math.abs(all.mean_s - 0.0109) < 1e-9)
    await latencies.closeMinute()
    assert.deepEqual(latencies.lastMinute(NODE), { wait: null, execution: null, total: null }, 'nothing ran in it')
    assert.equal(latencies.sinceStart(NODE).wait!.count, 100)
    assert.deepEqual(latencies.minute, { since_us: 180e6, until_us: 240e6 })
  })

  test('of a wire are its own', async () => {
    const { counters, latencies } = measuring()
    countExecution(counters, 3, timesOf(1, 1, 1))
    countWire(counters, 2, timesOf(5 * MS, 6 * MS, 7 * MS))
    await latencies.closeMinute()
    near(latencies.sinceStart(WIRE).total?.p50_s, 0.007)
    near(latencies.lastMinute(WIRE)?.total?.p50_s, 0.007)
  })

  test('go on counting when a bucket in shared memory wraps', async () => {
    const { memory, counters, latencies } = measuring()
    const bucket = ((memory.regions.nodes.offset + 3 * NODE_ROW.size + NODE_ROW.offset.total) >> 2) + bucketOf(MS)
    memory.i32[bucket] = 0x7fff_ffff
    await latencies.closeMinute()
    memory.i32[bucket] = -2
    await latencies.closeMinute()
    for (let i = 0; i < 5; i++) countExecution(counters, 3, timesOf(1, 1, MS))
    assert.equal(memory.i32[bucket], 3)
    assert.equal(latencies.sinceStart(NODE).total!.count, 2 ** 32 + 3)
    await latencies.closeMinute()
    assert.equal(latencies.lastMinute(NODE)!.total!.count, 5)
    assert.equal(latencies.sinceStart(NODE).total!.count, 2 ** 32 + 3)
  })
})
