/** Worker threads of a stress test: the test file itself, run again with a role. */
import { Worker } from 'node:worker_threads'

export interface Role {
  role: string
  sab: SharedArrayBuffer
  [more: string]: unknown
}

/** Starts the file in a worker with `workerData` = role; resolves with its one message, rejects with its error. */
export function inWorker(file: string, role: Role): { worker: Worker; answer: Promise<unknown> } {
  const worker = new Worker(new URL(file), { workerData: role })
  const answer = new Promise((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', reject)
    worker.once('exit', () => resolve(null))
  })
  return { worker, answer }
}
