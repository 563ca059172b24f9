import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  Arena,
  arenaPlace,
  BLOCK_BYTES,
  BLOCK_KIND,
  BLOCK_ROW,
  SLAB_BYTES,
  SLAB_ROW,
} from '../../../core/memory/arena.ts'
import { HeldTable } from '../../../core/memory/held.ts'
import { JournalReader, JournalWriter, recoverJournal } from '../../../core/memory/journal/journal.ts'
import { MessageTable } from '../../../core/memory/messages.ts'
import { recoverArena } from '../../../core/memory/recover/arena.ts'
import { begunBy, clearBegun } from '../../../core/memory/recover/begun.ts'
import type { Memory } from '../../../core/memory/region.ts'
import { NodeStates } from '../../../core/memory/states.ts'
import { ownerWord } from '../../../core/memory/threads.ts'
import { recoverWord } from '../../../core/memory/wait.ts'
import { killAtEachStep } from '../../kit/interleave.ts'
import { JournalLog } from '../../kit/journal-log.ts'
import { newValue } from '../../kit/memory.ts'
import * as arenaKilled from './arena-killed.scenario.ts'
import * as begunKilled from './begun-killed.scenario.ts'
import * as heldKilled from './held-killed.scenario.ts'
import * as publishKilled from './publish-killed.scenario.ts'
import * as statesKilled from './states-killed.scenario.ts'

const FRONT = ownerWord(1, 1)
const SLAB = SLAB_BYTES.find(bytes => bytes >= publishKilled.BYTES + 16)!
const none = { store() {}, front() {} }

test('a publisher killed at any step leaves a whole value, complete records, and at most two slabs leaked', async t => {
  const { OWNER, SLOT, VERSIONS, BYTES, lock, publish } = publishKilled
  const steps = await killAtEachStep(new URL('./publish-killed.scenario.ts', import.meta.url), memory => {
    recoverWord(memory, lock(memory), OWNER)
    assert.ok(recoverArena(memory, OWNER, FRONT))
    recoverJournal(memory, SLOT)

    const table = new MessageTable(memory)
    const latest = newValue()
    const version = table.read(0, latest) ? latest.version : 0
    if (version > 0) {
      assert.equal(latest.length, BYTES)
      assert.ok(
        latest.bytes.subarray(0, BYTES).every(byte => byte === version),
        'a torn value',
      )
    }

    // the next thread in the slot goes on
    const next = ownerWord(2, SLOT)
    const journal = new JournalWriter(memory, SLOT, none)
    for (let i = 1; i <= VERSIONS; i++) publish(memory, next, journal, version + i)
    const log = new JournalLog()
    new JournalReader(memory, SLOT, 'store').drain(log, 1e9)
    const stored = log.lines.map(line => Number(line.split(' ')[2]))
    for (const line of log.lines) assert.doesNotMatch(line, /torn/)
    // a version that died between its record and its flip is journalled and then given to the next value
    const twice = stored.filter((each, i) => stored.indexOf(each) !== i)
    assert.ok(twice.length <= 1 && twice.every(each => each === version + 1), `stored ${stored}`)
    assert.deepEqual(
      [...new Set(stored)].sort((a, b) => a - b),
      Array.from({ length: version + VERSIONS }, (_, i) => i + 1),
      'a record was lost',
    )

    const arena = new Arena(memory, next)
    const astray = (inUse(memory) - 2 * SLAB) / SLAB
    // the one that it displaced, and the one that it had just retained for the store
    assert.ok(astray >= 0 && astray <= 2, `${astray} slabs leaked`)
    assert.ok(arena.allocate(BYTES) > 0)
  })
  t.diagnostic(`${steps} steps`)
  assert.ok(steps > 60)
})

test('an owner of slabs killed at any step leaves no slab handed out twice, and at most one leaked', async t => {
  const { OWNER, FOREIGN, LEDGER, ENTRIES } = arenaKilled
  const steps = await killAtEachStep(new URL('./arena-killed.scenario.ts', import.meta.url), memory => {
    assert.ok(recoverArena(memory, OWNER, FRONT))
    assert.ok(recoverArena(memory, OWNER, FRONT), 'recovering twice is harmless')
    const ledger = (memory.regions.flows.offset >> 2) + LEDGER
    const arenas = [new Arena(memory, ownerWord(2, 8)), new Arena(memory, FOREIGN)]
    const held = new Set<number>()
    for (let entry = 0; entry < ENTRIES; entry++)
      if (memory.i32[ledger + 2 * entry + 1] === 1) held.add(memory.i32[ledger + 2 * entry]!)
    // everything else can be had once, by one or the other
    const had = new Set<number>()
    for (const bytes of [1000, 300, 20_000])
      for (const arena of arenas)
        for (let ref = arena.allocate(bytes); ref !== 0; ref = arena.allocate(bytes)) {
          assert.ok(!had.has(ref) && !held.has(ref), 'a slab was handed out twice')
          had.add(ref)
        }
    for (const ref of had) arenas[1]!.release(ref)
    for (const ref of held) {
      arenas[1]!.commit(ref)
      arenas[1]!.release(ref)
    }
    for (const arena of arenas) arena.collect()
    // a leaked slab keeps its block, so that the longest run tells
    const most = ENTRIES - 1
    const runs: number[] = []
    for (let ref = arenas[0]!.allocate(60_000); ref !== 0; ref = arenas[0]!.allocate(60_000)) runs.push(ref)
    assert.ok(runs.length >= most - 6, `only ${runs.length} blocks can be had`)
  })
  t.diagnostic(`${steps} steps`)
  assert.ok(steps > 60)
})

test('a lane killed at any step of keeping states leaves each of them whole, and at most one slab leaked', async t => {
  const { OWNER, SLOT, NODES, LENGTHS, stateOf } = statesKilled
  const steps = await killAtEachStep(new URL('./states-killed.scenario.ts', import.meta.url), memory => {
    assert.ok(recoverArena(memory, OWNER, FRONT))
    const arena = new Arena(memory, ownerWord(2, SLOT))
    const states = new NodeStates(memory, arena)
    const [first, second] = NODES.map(node => states.version(node)) as [number, number]
    assert.ok(first === second || first === second + 1, `the states are of turns ${first} and ${second}`)
    for (const node of NODES) assert.deepEqual(states.read(node), stateOf(states.version(node)), 'a torn state')
    assert.ok(slabsInUse(memory) <= NODES.length + 1, `${slabsInUse(memory) - NODES.length} slabs leaked`)

    // the next thread in the slot goes on
    const last = LENGTHS.length - 1
    for (const node of NODES) {
      const version = states.version(node)
      assert.ok(states.write(node, stateOf(last)))
      assert.deepEqual([states.version(node), states.read(node)], [version + 1, stateOf(last)])
    }
  })
  t.diagnostic(`${steps} steps`)
  assert.ok(steps > 30)
})

test('a lane killed at any step of holding values back leaves one whole, or none after a take, and at most one slab leaked', async t => {
  const { OWNER, SLOT, MESSAGE, DUE_MS, LENGTHS, hold } = heldKilled
  const found = new Set<number>()
  const steps = await killAtEachStep(new URL('./held-killed.scenario.ts', import.meta.url), memory => {
    assert.ok(recoverArena(memory, OWNER, FRONT))
    const next = ownerWord(2, SLOT)
    const held = new HeldTable(memory, new Arena(memory, next))
    const out = newValue()
    const isHeld = held.take(MESSAGE, out, DUE_MS)
    assert.ok(isHeld || held.due(MESSAGE) === 0)
    if (isHeld) {
      const number = out.bytes[0]!
      found.add(number)
      assert.deepEqual(out.bytes.subarray(0, out.length), Buffer.alloc(LENGTHS[number]!, number), 'a torn value')
    }
    // the next thread goes on, and what a slot still names is let go on the way
    for (const number of [1, 2, 4]) hold(memory, next, number)
    assert.ok(held.take(MESSAGE, out, DUE_MS))
    assert.equal(out.bytes[0], 4)
    assert.ok(slabsInUse(memory) <= 1, `${slabsInUse(memory)} slabs leaked`)
  })
  t.diagnostic(`${steps} steps`)
  assert.deepEqual([...found], [1, 2, 3, 4, 5, 6, 7], 'each value was the newest at some step')
})

test('of the cascades that a lane killed at any step had begun each is on record once: ended, or interrupted', async t => {
  const { SLOT, FLOW, BEGUN, Lane, bodiesOf } = begunKilled
  let whole = 0
  const steps = await killAtEachStep(new URL('./begun-killed.scenario.ts', import.meta.url), memory => {
    const left = begunBy(memory, SLOT)
    recoverJournal(memory, SLOT)
    const log = new JournalLog()
    new JournalReader(memory, SLOT, 'store').drain(log, 1e9)
    const records = log.lines.filter(line => line.startsWith('cascade')).map(line => line.split(' ').map(Number))
    const ended = records.filter(([, , , , , , , status]) => status === 1).map(([, , , , seq]) => seq!)
    const recorded = [...ended, ...left.map(one => one.seq)].sort((a, b) => a - b)
    const last = new Lane(memory).begun.last
    assert.deepEqual(
      recorded,
      Array.from({ length: last }, (_, at) => at + 1),
    )
    for (const one of left) {
      const { seq } = one
      assert.deepEqual(
        [one.flow, one.started_us, one.message, one.root_version],
        [FLOW, 1000 + seq, 10 + seq, 100 + seq],
      )
      assert.deepEqual([one.parent_seq, one.parent_ts], { 3: [2, 1002], 5: [4, 1004] }[seq] ?? [0, 0])
      const ran = memory.i32[bodiesOf(memory, seq)]!
      // One in flight tells what it had run when it last stood still; none of them runs two bodies in between.
      assert.ok(one.executions === ran || (seq !== last && one.executions === ran - 1), `${one.executions} of ${ran}`)
    }
    if (last === BEGUN) whole++

    // the next thread in the slot goes on
    clearBegun(memory, SLOT)
    const next = new Lane(memory)
    next.stands(next.begin())
    next.end(next.begin())
    assert.deepEqual(
      begunBy(memory, SLOT).map(one => one.seq),
      [last + 1],
    )
  })
  t.diagnostic(`${steps} steps`)
  assert.ok(steps > 60)
  assert.ok(whole > 0)
})

/** Slabs with a holder, counted block by block: no thread's books. */
function slabsInUse(memory: Memory): number {
  const { i32 } = memory
  const place = arenaPlace(memory)
  let held = 0
  for (let block = 1; block <= place.blocks; block++) {
    const row = place.rows + block * (BLOCK_ROW.size >> 2)
    const kind = i32[row + BLOCK_ROW.word.kind]!
    if (i32[row + BLOCK_ROW.word.owner] === 0 || kind >= BLOCK_KIND.run) continue
    for (let slab = 0; slab < i32[row + BLOCK_ROW.word.carved]!; slab++) {
      const at = place.first + (block - 1) * BLOCK_BYTES + slab * SLAB_BYTES[kind - 1]!
      if (i32[(at >> 2) + SLAB_ROW.word.references]! > 0) held++
    }
  }
  return held
}

/** Bytes of the slabs with a holder, counted from their references: no thread's books. */
function inUse(memory: Memory): number {
  let bytes = 0
  const arena = new Arena(memory, FRONT)
  const { offset, size } = memory.regions.arena
  const first = offset + size - Math.ceil(memory.sizes.arena_bytes / 65_536) * 65_536
  for (let block = first; block < offset + size; block += 65_536)
    for (let at = block; at + SLAB <= block + 65_536; at += SLAB) if (arena.references(at >> 4) > 0) bytes += SLAB
  return bytes
}
