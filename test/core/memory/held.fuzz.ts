import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Arena, SLAB_BYTES, SLAB_ROW } from '../../../core/memory/arena.ts'
import { KIND } from '../../../core/memory/encoded.ts'
import { HeldTable } from '../../../core/memory/held.ts'
import { ownerWord } from '../../../core/memory/threads.ts'
import { limits } from '../../../protocol/limits.ts'
import { float, newValue, smallMemory, text } from '../../kit/memory.ts'
import { randomFrom, seed } from '../../kit/random.ts'

const ROUNDS = process.env['LONG'] === undefined ? 20 : 1000
const STEPS = 1000
const MESSAGES = 6

interface Held {
  due_ms: number
  value: number | { length: number; fill: number }
}

test('against a model: of what is held back the newest comes out, once, when it is due, whichever thread asks', () => {
  console.log(`SEED=${seed}`)
  for (let round = 0; round < ROUNDS; round++) play(seed + round)
})

function play(round_seed: number): void {
  const random = randomFrom(round_seed)
  const upTo = (most: number): number => Math.floor(random() * most)
  const memory = smallMemory()
  // lanes hold, the timer takes: each with an arena of its own
  const threads = [8, 9, 4].map(slot => {
    const arena = new Arena(memory, ownerWord(1, slot))
    return { arena, held: new HeldTable(memory, arena) }
  })
  const any = () => threads[upTo(threads.length)]!
  const model = new Map<number, Held>()
  const replaced = new Map<number, number>()
  const passed = new Map<number, number>()
  let now_ms = 1000

  for (let step = 0; step < STEPS; step++) {
    now_ms += upTo(10)
    const message = upTo(MESSAGES)
    const known = model.get(message)
    const { arena, held } = any()
    const what = random()
    if (what < 0.5) {
      const due_ms = now_ms + upTo(60)
      const length = random() < 0.4 ? limits.SLOT_INLINE_BYTES + upTo(3000) : upTo(limits.SLOT_INLINE_BYTES)
      const next: Held = { due_ms, value: random() < 0.4 ? random() : { length, fill: upTo(256) } }
      let ref = 0
      const encoded =
        typeof next.value === 'number'
          ? float(newValue(8), next.value)
          : text(newValue(), next.value.length, next.value.fill)
      if (encoded.kind === KIND.str && encoded.length > limits.SLOT_INLINE_BYTES) {
        ref = arena.allocate(encoded.length)
        assert.ok(ref > 0)
        encoded.bytes.copy(memory.bytes, arena.offset(ref), 0, encoded.length)
      }
      assert.equal(held.hold(message, due_ms, encoded, ref), known === undefined ? 'new' : 'replaced')
      if (known !== undefined) replaced.set(message, (replaced.get(message) ?? 0) + 1)
      model.set(message, next)
    } else if (what < 0.85) {
      const out = newValue(random() < 0.5 ? 4 : 4096)
      const isDue = known !== undefined && known.due_ms <= now_ms
      assert.equal(held.take(message, out, now_ms), isDue)
      if (!isDue) continue
      if (typeof known.value === 'number') assert.deepEqual([out.kind, out.number], [KIND.float, known.value])
      else {
        assert.deepEqual([out.kind, out.length], [KIND.str, known.value.length])
        assert.deepEqual(
          out.bytes.subarray(0, out.length),
          Buffer.alloc(known.value.length, known.value.fill),
          'a torn value',
        )
      }
      model.delete(message)
    } else if (what < 0.92) {
      held.drop(message)
      model.delete(message)
    } else {
      held.setPassed(message, now_ms * 1000)
      passed.set(message, now_ms * 1000)
    }
    assert.equal(any().held.due(message), model.get(message)?.due_ms ?? 0)
    assert.equal(any().held.replaced(message), replaced.get(message) ?? 0)
    assert.equal(any().held.passed(message), passed.get(message) ?? 0)
  }
  let slabs = 0
  for (const { value } of model.values())
    if (typeof value !== 'number' && value.length > limits.SLOT_INLINE_BYTES)
      slabs += SLAB_BYTES.find(bytes => bytes >= value.length + SLAB_ROW.size)!
  assert.equal(any().arena.used(), slabs, 'a slab is leaked')
}
