/**
 * The bare ring loop, the floor of `live-chain`: a shared ring of float records that a producer thread fills, and a loop
 * that takes each record, runs it through a chain of trivial bodies (inputs as an object, outputs checked) and writes a
 * record per result into a second ring. No waves, counters, journal, history or flows. Two threads: producer and loop.
 *   pass({bodies, records}) -> {seconds}
 */
import { Worker } from 'node:worker_threads'
import { answer } from '../../partner.ts'

const RECORD = { subject: 0, version: 1, ts: 2, value: 3, doubles: 4 }
const SLOTS = 16_384
const WORD = { written: 0, taken: 1, results: 2 }

type Body = (inputs: Record<string, number>, ctx: object) => Record<string, number>

answer({
  async pass({ bodies, records }: { bodies: number; records: number }) {
    const words = new Int32Array(new SharedArrayBuffer(64))
    const ring = new Float64Array(new SharedArrayBuffer(SLOTS * RECORD.doubles * 8))
    const results = new Float64Array(new SharedArrayBuffer(SLOTS * RECORD.doubles * 8))
    const chain = await Promise.all(Array.from({ length: bodies }, (_, position) => load(position)))
    const producer = new Worker(`(${produce.toString()})()`, {
      eval: true,
      workerData: { words, ring, records, SLOTS, WORD, RECORD },
    })
    await new Promise(resolve => producer.once('online', resolve))
    const began_ms = performance.now()
    take(words, ring, results, chain, records)
    const seconds = (performance.now() - began_ms) / 1000
    await producer.terminate()
    return { seconds }
  },
})

/** Each body is a module of its own, as the bodies of nodes are. */
async function load(position: number): Promise<Body> {
  const source = `/* ${position} ${Math.random()} */ export default ({ x }) => ({ x: x + 1 })`
  return ((await import(`data:text/javascript,${encodeURIComponent(source)}`)) as { default: Body }).default
}

function take(
  words: Int32Array,
  ring: Float64Array,
  results: Float64Array,
  chain: readonly Body[],
  records: number,
): void {
  const ctx = {}
  let result = 0
  for (let taken = 0; taken < records; ) {
    const written = Atomics.load(words, WORD.written)
    for (; taken < written; taken++) {
      const at = (taken & (SLOTS - 1)) * RECORD.doubles
      const ts = ring[at + RECORD.ts]!
      let value = ring[at + RECORD.value]!
      for (let position = 0; position < chain.length; position++) {
        const outputs = chain[position]!({ x: value }, ctx)
        if (typeof outputs !== 'object' || outputs === null) throw new TypeError('not an object of outputs')
        for (const key in outputs) {
          if (key !== 'x') throw new RangeError(`undeclared key ${key}`)
          value = outputs[key]!
          if (typeof value !== 'number' || !Number.isFinite(value)) throw new TypeError('not a finite number')
        }
        const to = (result & (SLOTS - 1)) * RECORD.doubles
        results[to + RECORD.subject] = position
        results[to + RECORD.version] = taken + 1
        results[to + RECORD.ts] = ts
        results[to + RECORD.value] = value
        Atomics.store(words, WORD.results, ++result | 0)
      }
    }
    Atomics.store(words, WORD.taken, taken)
  }
}

/** Runs in the producer thread, as text: it spins while the ring is full, so the loop never waits for a wake-up. */
function produce(): void {
  const { workerData } = require('node:worker_threads') as typeof import('node:worker_threads')
  const words: Int32Array<SharedArrayBuffer> = workerData.words
  const { ring, records, SLOTS, WORD, RECORD } = workerData
  for (let written = 0; written < records; ) {
    const room = SLOTS - (written - Atomics.load(words, WORD.taken))
    const batch = Math.min(room, 256, records - written)
    for (let end = written + batch; written < end; written++) {
      const at = (written & (SLOTS - 1)) * RECORD.doubles
      ring[at + RECORD.subject] = 0
      ring[at + RECORD.version] = written + 1
      ring[at + RECORD.ts] = written
      ring[at + RECORD.value] = written
    }
    Atomics.store(words, WORD.written, written)
  }
}
