import { Worker } from 'node:worker_threads'
import { ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import { type CheckedSource, refusedSource } from './code.ts'

export interface SourceAsked {
  readonly language: 'ts' | 'js'
  readonly source: string
}

/** What the thread answers; `broken` when its stripper cannot be used any more. */
export type SourceAnswer = CheckedSource | { broken: string }

interface Waiting {
  readonly asked: SourceAsked
  readonly resolve: (checked: CheckedSource) => void
  readonly reject: (error: ServiceError) => void
}

/**
 * Checks sources in a thread of its own, one at a time: types out, parsed, its default export looked at. Node's stripper is
 * WebAssembly, and a source with some hundred functions inside each other breaks it for the rest of its thread's life. A broken
 * thread is ended and the next source gets a fresh one (40 ms; a source of usual size costs some 100 us). Nobody stands
 * still for it.
 *
 *   idle --check--> busy --answer--> idle | busy with the next
 *   idle --it ends--> no thread
 *                     --broken, or it ends--> no thread: that source cannot be read
 *                     --too late--> no thread: that source is asked for again, by whoever wants it
 */
export class SourceThread {
  readonly #late_ms: number
  #worker: Worker | null = null
  #late: NodeJS.Timeout | undefined
  readonly #waiting: Waiting[] = []

  constructor(late_ms: number = limits.SOURCE_CHECK_MS) {
    this.#late_ms = late_ms
  }

  /** Rejects with `check_late` after `limits.SOURCE_CHECK_MS` in the thread: that says nothing about the source. */
  check(asked: SourceAsked): Promise<CheckedSource> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.push({ asked, resolve, reject }) === 1) this.#next()
    })
  }

  /** Ends the thread, if there is one, and refuses what waits; a later `check` starts another. */
  close(): void {
    this.#end()
    const detail = 'The engine is stopping; the source was not checked.'
    for (const { reject } of this.#waiting.splice(0)) reject(new ServiceError('check_late', detail))
  }

  #end(): void {
    const worker = this.#worker
    this.#worker = null
    clearTimeout(this.#late)
    // Its exit is what counts.
    worker?.terminate().catch(() => {})
  }

  #next(): void {
    const first = this.#waiting[0]
    // Nothing waits for an idle thread: the engine may end.
    if (first === undefined) return this.#worker?.unref()
    this.#worker ??= this.#start()
    this.#worker.ref()
    this.#late = setTimeout(() => this.#tooLate(), this.#late_ms).unref()
    this.#worker.postMessage(first.asked)
  }

  #start(): Worker {
    const worker = new Worker(new URL('./source-worker.ts', import.meta.url), { name: 'sources' })
    const ended = (): void => {
      if (this.#worker !== worker) return
      if (this.#waiting.length === 0) this.#end()
      else this.#answered({ broken: 'the thread ended' })
    }
    worker.on('message', (answer: SourceAnswer) => {
      if (this.#worker === worker) this.#answered(answer)
    })
    worker.on('error', ended).on('exit', ended)
    return worker
  }

  #answered(answer: SourceAnswer): void {
    clearTimeout(this.#late)
    if ('broken' in answer) this.#end()
    const { resolve } = this.#waiting.shift()!
    resolve(
      'broken' in answer ? refusedSource('syntax_error', 1, 1, 'too large or nested too deeply to be read') : answer,
    )
    this.#next()
  }

  #tooLate(): void {
    this.#end()
    const { reject } = this.#waiting.shift()!
    const detail = `A source was not checked within ${this.#late_ms / 1000} s.`
    reject(new ServiceError('check_late', detail, { retry_after_s: limits.SOURCE_CHECK_RETRY_S }))
    this.#next()
  }
}
