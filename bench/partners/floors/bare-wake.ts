/**
 * The bare wake-up, the floor of the hop: one thread notes the time and notifies, another sleeps in `Atomics.wait` and notes when it
 * woke. Two threads, idle otherwise.
 *   pass({hops, every_ms}) -> {p50_us}
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { isMainThread, Worker, workerData } from 'node:worker_threads'
import { median } from '../../kit.ts'
import { answer } from '../../partner.ts'

interface Shared {
  /** [0] counts the wake-ups asked for, [1] those served. */
  words: Int32Array<SharedArrayBuffer>
  /** [0] when the wake-up was asked for, [1] when the other thread ran; microseconds. */
  times: Float64Array<SharedArrayBuffer>
}

const now_us = (): number => Number(process.hrtime.bigint()) / 1000

if (isMainThread) {
  answer({
    async pass({ hops, every_ms }: { hops: number; every_ms: number }) {
      const shared: Shared = {
        words: new Int32Array(new SharedArrayBuffer(8)),
        times: new Float64Array(new SharedArrayBuffer(16)),
      }
      const sleeper = new Worker(import.meta.filename, { workerData: shared })
      await new Promise(resolve => sleeper.once('online', resolve))
      await sleep(50)
      const taken: number[] = []
      for (let hop = 1; hop <= hops; hop++) {
        shared.times[0] = now_us()
        Atomics.store(shared.words, 0, hop)
        Atomics.notify(shared.words, 0)
        await sleep(every_ms)
        if (Atomics.load(shared.words, 1) === hop) taken.push(shared.times[1]! - shared.times[0]!)
      }
      await sleeper.terminate()
      return { p50_us: median(taken) }
    },
  })
} else {
  const { words, times } = workerData as Shared
  for (let seen = 0; ; ) {
    Atomics.wait(words, 0, seen)
    times[1] = now_us()
    seen = Atomics.load(words, 0)
    Atomics.store(words, 1, seen)
  }
}
