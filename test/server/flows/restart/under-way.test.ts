import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FlowRun } from '../../../../core/cascade/flow-run.ts'
import { Cascade } from '../../../../core/cascade/wave.ts'
import { SLOT } from '../../../../core/memory/threads.ts'
import { UnderWayFile } from '../../../../server/flows/restart/under-way.ts'
import type { StoredWaiting } from '../../../../server/store/front/replies.ts'
import { UnderWay } from '../../../../threads/lane/under-way.ts'
import { directoryFor } from '../../../kit/spawned.ts'

const log = { info: () => {}, warn: () => {}, error: (event: string) => assert.fail(event) }
const FLOW = 3
const MESSAGE = 11

const run = {
  index: FLOW,
  name: 'f',
  run: { plan: { by_message: new Map([[MESSAGE, 0]]), messages: [{ name: 'f.x' }] } },
} as unknown as FlowRun

function cascade(item: number, root_version: number): Cascade {
  return Object.assign(new Cascade(), { message: MESSAGE, item, root_version })
}

const waiting = (...versions: number[]): StoredWaiting[] => [
  {
    flow: 'f',
    items: versions.map(version => ({ message: 'f.x', version }) as StoredWaiting['items'][number]),
    standing: [],
    lost: 0,
  },
]

/** A start on what waits; null: no lane marks anything. `lane` is one that runs. */
function start(data_dir: string, ...versions: number[]) {
  const file = new UnderWayFile(data_dir, waiting(...versions), log)
  const messages = new Int32Array(versions.length).fill(MESSAGE)
  const [version, places] = [Float64Array.from(versions), new Int32Array(versions.length)]
  const [parent_seqs, parent_times] = [new Float64Array(versions.length), new Float64Array(versions.length)]
  const task = file.task([{ flow: FLOW, messages, versions: version, places, parent_seqs, parent_times }])
  const lane = (slot = 0, waits = () => {}) => new UnderWay(task!, SLOT.lane + slot, waits)
  return { file, lane, marks: task !== null }
}

test('a start after one that did not end marks what it queued again; after a clean end nothing is marked', t => {
  const data_dir = directoryFor(t)
  assert.equal(start(data_dir, 1).marks, false)
  const second = start(data_dir, 1)
  assert.equal(second.marks, true)
  second.file.close()
  assert.equal(start(data_dir, 1).marks, false)
})

test('an item that ran in two engines when they died has crashed them, on whichever lanes', t => {
  const data_dir = directoryFor(t)
  start(data_dir, 7, 8)
  start(data_dir, 7, 8).lane(0).runs(run, cascade(0, 7))
  const third = start(data_dir, 7, 8)
  assert.equal(third.file.hasCrashed('f', 'f.x', 7), false)
  third.lane(2).runs(run, cascade(0, 7))
  const { file } = start(data_dir, 7, 8)
  assert.equal(file.hasCrashed('f', 'f.x', 7), true)
  assert.equal(file.hasCrashed('f', 'f.x', 8), false)
  assert.equal(file.hasCrashed('g', 'f.x', 7), false)
})

/** The engine after one that died while two lanes ran an item each: 7 and 8. */
function afterDeath(data_dir: string): ReturnType<typeof start> {
  start(data_dir, 7, 8)
  const died = start(data_dir, 7, 8)
  died.lane(0).runs(run, cascade(0, 7))
  died.lane(1).runs(run, cascade(1, 8))
  return start(data_dir, 7, 8)
}

test('suspects run one at a time, and only the one that runs when the engine dies again has crashed two', t => {
  const data_dir = directoryFor(t)
  const third = afterDeath(data_dir)
  const [one, other] = [cascade(0, 7), cascade(1, 8)]
  const first = third.lane(0)
  first.runs(run, one)
  let waited = 0
  const crashed = () => [7, 8].filter(version => start(data_dir, 7, 8).file.hasCrashed('f', 'f.x', version))
  const lane = third.lane(1, () => {
    waited++
    assert.deepEqual(crashed(), [7])
    first.ended(one)
  })
  lane.runs(run, other)
  assert.equal(waited, 1)
  assert.deepEqual(crashed(), [8])
  lane.ended(other)
  assert.deepEqual(crashed(), [])
})

test('a suspect that never ends, or whose lane died, holds up the others for a while only', t => {
  const data_dir = directoryFor(t)
  const third = afterDeath(data_dir)
  third.lane(0).runs(run, cascade(0, 7))
  third.lane(1).runs(run, cascade(1, 8))
  assert.equal(start(data_dir, 7, 8).file.hasCrashed('f', 'f.x', 8), true)
})

test('items that ended, and those that came after the start, are not blamed', t => {
  const data_dir = directoryFor(t)
  start(data_dir, 6, 7)
  for (const _ of [1, 2, 3]) {
    const lane = start(data_dir, 6, 7).lane()
    const first = cascade(0, 6)
    lane.runs(run, first)
    lane.ended(first)
    lane.runs(run, cascade(2, 8))
    lane.close()
  }
  const { file } = start(data_dir, 6, 7, 8)
  for (const version of [6, 7, 8]) assert.equal(file.hasCrashed('f', 'f.x', version), false)
})

test('a mark is forgotten by the first start at which its item does not wait', t => {
  const data_dir = directoryFor(t)
  start(data_dir, 7)
  for (const _ of [1, 2]) start(data_dir, 7).lane().runs(run, cascade(0, 7))
  assert.equal(start(data_dir, 7).file.hasCrashed('f', 'f.x', 7), true)
  start(data_dir, 8)
  assert.equal(start(data_dir, 7).file.hasCrashed('f', 'f.x', 7), false)
})
