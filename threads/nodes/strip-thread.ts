import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads'
import { limits } from '../../protocol/limits.ts'
import type { Stripped } from './strip.ts'

/** What the thread answers; `broken` when its stripper cannot be used any more. */
export type StripAnswer = Stripped | { broken: string }

export interface StripThreadData {
  port: MessagePort
  /** One word: 1 when an answer has been posted. */
  answered: Int32Array
}

/**
 * Strips types in a thread of its own, one source at a time, and waits for it: Node's stripper is WebAssembly, and a source
 * with some hundred functions inside each other breaks it for the rest of its thread's life. A broken thread is ended and the
 * next source gets a fresh one (40 ms; a stripped source costs some 50 us).
 *
 *   idle --strip--> waiting --answer--> idle
 *                           --broken or too late--> ended --strip--> (a new thread) waiting
 */
export class StripThread {
  #thread: { worker: Worker; port: MessagePort; answered: Int32Array } | null = null

  /** Blocks the calling thread, at most `limits.SOURCE_STRIP_MS`. */
  readonly strip = (source: string): Stripped => {
    const { port, answered } = (this.#thread ??= start())
    Atomics.store(answered, 0, 0)
    port.postMessage(source)
    const late = Atomics.wait(answered, 0, 0, limits.SOURCE_STRIP_MS) === 'timed-out'
    const answer = late ? undefined : (receiveMessageOnPort(port)?.message as StripAnswer | undefined)
    if (answer !== undefined && !('broken' in answer)) return answer
    this.close()
    return { line: 1, column: 1, text: 'too large or nested too deeply to be read' }
  }

  /** Ends the thread, if there is one; a later `strip` starts another. */
  close(): void {
    this.#thread?.port.close()
    void this.#thread?.worker.terminate()
    this.#thread = null
  }
}

function start(): { worker: Worker; port: MessagePort; answered: Int32Array } {
  const { port1, port2 } = new MessageChannel()
  const answered = new Int32Array(new SharedArrayBuffer(4))
  const data: StripThreadData = { port: port2, answered }
  const worker = new Worker(new URL('./strip-worker.ts', import.meta.url), { workerData: data, transferList: [port2] })
  // Nothing waits for it: the engine may end while it idles.
  worker.unref()
  port1.unref()
  return { worker, port: port1, answered }
}
