import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ownerWord } from '../../../../core/memory/threads.ts'
import { layVolatile } from '../../../../core/memory/volatile/region.ts'
import { VolatileStore } from '../../../../core/memory/volatile/store.ts'
import { randomFrom, seed } from '../../../kit/random.ts'
import { frame, named } from './kit.ts'

const ROUNDS = process.env['LONG'] === undefined ? 40 : 2000
const STEPS = 600
const UNIT = 64
const units = (length: number): number => Math.max(1, Math.ceil(length / UNIT))

test('against a model: the newest artifacts that fit in pieces are held, each whole, and nothing else', () => {
  console.log(`SEED=${seed}`)
  for (let round = 0; round < ROUNDS; round++) play(seed + round)
})

/** The model: places in a ring as a list, oldest first. Written for clearness: every question goes through all of it. */
class Model {
  readonly #ring: number
  readonly #rows: number
  held: { number: number; length: number; at: number }[] = []

  constructor(ring: number, rows: number) {
    this.#ring = ring
    this.#rows = rows
  }

  put(number: number, length: number): void {
    const known = this.held.findLast(one => one.number === number)
    if (known !== undefined) {
      let newer = (this.#end - known.at + this.#ring) % this.#ring
      if (newer === 0) newer = this.#ring
      if (newer <= this.#ring / 2) return
    }
    for (;;) {
      const at = this.held.length < this.#rows ? this.#room(units(length) * UNIT) : null
      if (at !== null) return void this.held.push({ number, length, at })
      this.held.shift()
    }
  }

  get #end(): number {
    const last = this.held.at(-1)!
    return last.at + units(last.length) * UNIT
  }

  /** Behind the newest, else at the beginning: the first of the two that touches nothing that is held. */
  #room(bytes: number): number | null {
    if (this.held.length === 0) return 0
    const free = (from: number): boolean =>
      from + bytes <= this.#ring &&
      this.held.every(({ at, length }) => from + bytes <= at || at + units(length) * UNIT <= from)
    if (free(this.#end)) return this.#end
    return this.held.at(-1)!.at >= this.held[0]!.at && free(0) ? 0 : null
  }
}

function play(round_seed: number): void {
  const random = randomFrom(round_seed)
  const upTo = (most: number): number => Math.floor(random() * most)
  const ring = UNIT * (8 + upTo(60))
  const rows = 2 ** (2 + upTo(5))
  const memory = layVolatile(new SharedArrayBuffer(64 * 1024), 0, ring, rows)
  const stores = [8, 9, 10].map(slot => new VolatileStore(memory, ownerWord(1, slot)))
  const any = () => stores[upTo(stores.length)]!
  const model = new Model(ring, rows)
  const lengths = new Map<number, number>()
  const numbers = 5 + upTo(100)
  for (let step = 0; step < STEPS; step++) {
    const number = upTo(numbers)
    const length = lengths.get(number) ?? upTo(random() < 0.3 ? any().largest + 1 : 80)
    lengths.set(number, Math.min(length, any().largest))
    const size = lengths.get(number)!
    if (random() < 0.7) {
      assert.ok(any().put(named(number), frame(number, size)))
      model.put(number, size)
    }
    const known = model.held.some(one => one.number === number)
    assert.deepEqual(any().read(named(number)), known ? frame(number, size) : null, `seed ${round_seed}, step ${step}`)
    assert.equal(any().size(named(number)), known ? size : -1)
    if (known) assert.equal(any().hasFallenOut(named(number)), false)
    assert.equal(any().counts().held, model.held.length)
  }
  for (const [number, length] of lengths) {
    const known = model.held.some(one => one.number === number)
    assert.deepEqual(any().read(named(number)), known ? frame(number, length) : null)
  }
}
