import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Arena } from '../../../../core/memory/arena.ts'
import { KIND } from '../../../../core/memory/encoded.ts'
import {
  JOURNAL,
  JOURNAL_HEADER,
  JournalReader,
  JournalWriter,
  journalOffset,
  recoverJournal,
  VALUE_FLAG,
  VALUE_GROUP,
} from '../../../../core/memory/journal/journal.ts'
import { ownerWord } from '../../../../core/memory/threads.ts'
import { limits } from '../../../../protocol/limits.ts'
import { JournalLog } from '../../../kit/journal-log.ts'
import { float, newValue, smallMemory, text } from '../../../kit/memory.ts'
import { randomFrom, seed } from '../../../kit/random.ts'

const ROUNDS = process.env['LONG'] === undefined ? 20 : 1000
const STEPS = 3000
const LANE = 8
const ROOTED = VALUE_FLAG.rooted
const none = { store() {}, front() {} }

test('against a model: the store gets every record whole and in order, the front too or knows how many it missed', () => {
  console.log(`SEED=${seed}`)
  for (let round = 0; round < ROUNDS; round++) play(seed + round)
})

function play(round_seed: number): void {
  const random = randomFrom(round_seed)
  const upTo = (most: number): number => Math.floor(random() * most)
  const memory = smallMemory({ ring_bytes: 4096 << upTo(8) })
  const longest = Math.min(memory.sizes.ring_bytes / 16 - 40, 9000)
  const arena = new Arena(memory, ownerWord(1, LANE))
  // positions shortly before they turn negative, or come round to 0
  const start = [0, 0x7fffffff & ~63, -(memory.sizes.ring_bytes >> 3)][upTo(3)]!
  const head = journalOffset(memory, LANE) >> 2
  for (const word of ['tail', 'marked', 'reserved', 'checkpoint', 'cursor'] as const)
    memory.i32[head + JOURNAL_HEADER.word[word]] = start
  const store = new JournalReader(memory, LANE, 'store')
  const front = new JournalReader(memory, LANE, 'front')
  const stored = new JournalLog()
  const shown = new JournalLog()
  const model: string[] = []
  const value = newValue(16_384)
  let writer = new JournalWriter(memory, LANE, none)
  const lazy_front = random() < 0.5

  for (let step = 0; step < STEPS; step++) {
    const what = random()
    if (what < 0.8) write(step)
    else if (what < 0.86) writer.mark()
    else if (what < 0.93) store.drain(stored, 1 + upTo(20_000))
    else if (what < 0.995) lazy_front || front.drain(shown, 1 + upTo(20_000))
    else {
      recoverJournal(memory, LANE)
      writer = new JournalWriter(memory, LANE, none)
    }
  }
  writer.mark()
  while (store.drain(stored, 1e6) > 0);
  for (let quiet = 0; quiet < 2; ) if (front.drain(shown, 1e6) === 0) quiet++
  assert.deepEqual(stored.lines, model)
  assert.equal(arena.used(), 0, 'the store gave every slab back')
  assert.equal(shown.lines.length + front.missed(), model.length)
  let at = 0
  for (const line of shown.lines) {
    at = model.indexOf(line, at) + 1
    assert.ok(at > 0, `the front saw ${line}`)
  }
  if (!lazy_front && shown.lines.length > 0) assert.ok(shown.lines.length > model.length / 20)

  function write(step: number): void {
    const what = random()
    const length = what < 0.5 ? 8 : upTo(longest)
    if (!writer.hasRoom(length + 120)) return
    const fill = 1 + upTo(255)
    if (what < 0.5) {
      const how = random()
      if (how < 0.3) {
        writer.value(fill, step, step, 0, float(value, step / 4), 0)
        model.push(`value ${fill} ${step} ${step} 0 ${KIND.float} ${step / 4}`)
      } else if (how < 0.5) {
        writer.rootedValue(fill, step, step, fill / 8, float(value, step / 4), 0)
        model.push(`value ${fill} ${step} ${step} ${ROOTED} ${KIND.float} ${step / 4} from ${fill / 8}`)
      } else {
        writer.queuedValue(fill, step, step, fill, -step, float(value, step / 4), 0)
        model.push(`value ${fill} ${step} ${step} 1 ${KIND.float} ${step / 4} in ${fill} as ${-step}`)
      }
    } else if (what < 0.75) {
      text(value, length, fill)
      const ref = length > limits.JOURNAL_INLINE_BYTES ? arena.allocate(length) : 0
      if (ref > 0) {
        value.bytes.copy(memory.bytes, arena.offset(ref), 0, length)
        arena.commit(ref)
      }
      const [flags, more] = [
        [1 | (3 << VALUE_GROUP.shift), ` in ${fill} as ${step} of 3`],
        [2, ''],
        [ROOTED, ` from ${step + 1}`],
      ][upTo(3)] as [number, string]
      if (flags === 2) writer.value(fill, step, step, flags, value, ref)
      else if (flags === ROOTED) writer.rootedValue(fill, step, step, step + 1, value, ref)
      else writer.queuedValue(fill, step, step, fill, step, value, ref, 3)
      if (ref > 0) arena.release(ref)
      model.push(`value ${fill} ${step} ${step} ${flags} ${KIND.str} ${length}x${length === 0 ? '' : fill}${more}`)
    } else if (what < 0.85) {
      writer.blob(JOURNAL.state, step, step, Buffer.alloc(length, fill), length)
      model.push(`blob ${JOURNAL.state} ${step} ${step} ${length}x${length === 0 ? '' : fill}`)
    } else if (what < 0.95) {
      writer.cascade(fill, 2, 3, step, 5, 6, 1, 8, 9, 10, 11)
      model.push(`cascade ${fill} 2 3 ${step} 5 6 1 8 9 10 11`)
    } else {
      writer.taken(fill, step)
      model.push(`taken ${fill} ${step}`)
    }
  }
}
