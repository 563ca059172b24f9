import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isMainThread, workerData } from 'node:worker_threads'
import { JournalReader, JournalWriter } from '../../../../core/memory/journal/journal.ts'
import { attachMemory } from '../../../../core/memory/region.ts'
import { SLOT } from '../../../../core/memory/threads.ts'
import { Cut } from '../../../../server/store/writer/cut.ts'
import { JournalLog } from '../../../kit/journal-log.ts'
import { float, newValue, smallMemory } from '../../../kit/memory.ts'
import { randomFrom, seed } from '../../../kit/random.ts'
import { inWorker, type Role } from '../../../kit/workers.ts'

const TURNS = process.env['LONG'] ? 400_000 : 8_000
const LANES = 3
const random = randomFrom(seed)

/** Takes the flow when it is its turn, publishes the next version, marks, and hands the flow to the lane before it. */
function lane({ sab, slot, token }: { sab: SharedArrayBuffer; slot: number; token: Int32Array }): void {
  const memory = attachMemory(sab)
  const writer = new JournalWriter(memory, slot, { store() {}, front() {} })
  const value = newValue()
  for (let next = LANES - 1 - (slot - SLOT.lane); next < TURNS; next += LANES) {
    for (let seen = Atomics.load(token, 0); seen !== next; seen = Atomics.load(token, 0)) Atomics.wait(token, 0, seen)
    writer.waitForRoom(256, () => false)
    writer.value(1, next + 1, 0, 0, float(value, next), 0)
    writer.mark()
    Atomics.store(token, 0, next + 1)
    Atomics.notify(token, 0)
  }
}

/** A store thread that now and then loses its core between two looks. */
class Interrupted extends JournalReader {
  static readonly #never = new Int32Array(new SharedArrayBuffer(4))

  override marked(): number {
    const marked = super.marked()
    if (random() < 0.03) Atomics.wait(Interrupted.#never, 0, 0, 0.3)
    return marked
  }
}

if (!isMainThread) lane(workerData as never)
else
  test(`a cut never holds what the next lane of a flow wrote without what its last lane wrote (SEED=${seed})`, async () => {
    const memory = smallMemory()
    const token = new Int32Array(new SharedArrayBuffer(4))
    const readers = Array.from({ length: memory.sizes.rings }, (_, slot) => new Interrupted(memory, slot, 'store'))
    const cut = new Cut(readers)
    const lanes = Array.from({ length: LANES }, (_, at) =>
      inWorker(import.meta.url, { role: 'lane', sab: memory.sab, slot: SLOT.lane + at, token } as Role),
    )
    const log = new JournalLog()
    let seen = 0
    let cuts = 0
    while (seen < TURNS) {
      if (cut.drain(log) === 0) {
        await new Promise(setImmediate)
        continue
      }
      cuts++
      // In a cut the rings come one after the other: what counts is which versions it holds.
      const versions = log.lines.map(line => Number(line.split(' ')[2])).sort((a, b) => a - b)
      log.lines.length = 0
      for (const version of versions) assert.equal(version, ++seen, `cut ${cuts} has a hole`)
    }
    await Promise.all(lanes.map(one => one.answer))
    assert.ok(cuts > 1)
  })
