import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Arena, BLOCK_BYTES, SLAB_BYTES, SLAB_ROW } from '../../../core/memory/arena.ts'
import { recoverArena } from '../../../core/memory/recover/arena.ts'
import { NodeStates, STATE_SLAB } from '../../../core/memory/states.ts'
import { ownerWord } from '../../../core/memory/threads.ts'
import { smallMemory } from '../../kit/memory.ts'
import { randomFrom, seed } from '../../kit/random.ts'

const ROUNDS = process.env['LONG'] === undefined ? 20 : 600
const STEPS = 600

test('against a model: every node has its last state, whoever wrote it, through full arenas and deaths of writers', () => {
  console.log(`SEED=${seed}`)
  let full = 0
  for (let round = 0; round < ROUNDS; round++) full += play(seed + round)
  assert.ok(full > 0, 'the arena was full now and then')
})

function slabBytes(length: number): number {
  const bytes = SLAB_ROW.size + STATE_SLAB.size + length
  return SLAB_BYTES.find(slab => slab >= bytes) ?? Math.ceil(bytes / BLOCK_BYTES) * BLOCK_BYTES
}

/** Answers how often a write found the arena full. */
function play(round_seed: number): number {
  const random = randomFrom(round_seed)
  const upTo = (most: number): number => Math.floor(random() * most)
  const memory = smallMemory({ arena_bytes: 1024 * 1024 })
  const slots = [1, 8, 9]
  const epochs = new Map(slots.map(slot => [slot, 1]))
  const writers = new Map<number, { arena: Arena; states: NodeStates }>()
  const enter = (slot: number): void => {
    const arena = new Arena(memory, ownerWord(epochs.get(slot)!, slot))
    writers.set(slot, { arena, states: new NodeStates(memory, arena) })
  }
  slots.forEach(enter)
  const any = () => writers.get(slots[upTo(slots.length)]!)!
  const model = new Map<number, { bytes: Buffer; version: number }>()
  const others: number[] = []
  let full = 0

  for (let step = 0; step < STEPS; step++) {
    const node = upTo(memory.sizes.nodes)
    const known = model.get(node)
    const what = random()
    if (what < 0.5) {
      const bytes = Buffer.alloc(random() < 0.1 ? upTo(100_000) : upTo(2000), 1 + upTo(255))
      if (any().states.write(node, bytes)) model.set(node, { bytes, version: (known?.version ?? 0) + 1 })
      else full++
    } else if (what < 0.9) {
      const { states } = any()
      assert.equal(states.version(node), known?.version ?? 0)
      assert.deepEqual(states.read(node), known?.bytes ?? null)
    } else if (what < 0.97) {
      // values of messages want slabs too
      const { arena } = any()
      if (others.length > 0 && random() < 0.4) arena.release(others.splice(upTo(others.length), 1)[0]!)
      else {
        const ref = arena.allocate(1 + upTo(200_000))
        if (ref !== 0) {
          arena.commit(ref)
          others.push(ref)
        }
      }
    } else {
      const slot = slots[upTo(slots.length)]!
      assert.ok(recoverArena(memory, ownerWord(epochs.get(slot)!, slot), ownerWord(1, 3)))
      epochs.set(slot, epochs.get(slot)! + 1)
      enter(slot)
    }
  }
  for (const ref of others) any().arena.release(ref)
  let used = 0
  for (const [node, { bytes, version }] of model) {
    assert.deepEqual(any().states.read(node), bytes)
    assert.equal(any().states.version(node), version)
    used += slabBytes(bytes.length)
  }
  assert.equal(any().arena.used(), used, 'a slab is leaked')
  return full
}
