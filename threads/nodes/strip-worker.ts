import { workerData } from 'node:worker_threads'
import { stripHere } from './strip.ts'
import type { StripAnswer, StripThreadData } from './strip-thread.ts'

/** The thread of `StripThread`: a source comes in, an answer goes out, then the waiting thread is woken. */
const { port, answered } = workerData as StripThreadData

port.on('message', (source: string) => {
  port.postMessage(answer(source))
  Atomics.store(answered, 0, 1)
  Atomics.notify(answered, 0)
})

function answer(source: string): StripAnswer {
  try {
    return stripHere(source)
  } catch (error) {
    return { broken: String(error) }
  }
}
