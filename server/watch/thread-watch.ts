import { limits } from '../../protocol/limits.ts'
import type { EventType } from '../../protocol/nouns/event.ts'
import type { Log } from '../observe/serve-log.ts'

/** A thread of the engine's own that answers a ping. Lanes and call slots run bodies and are watched by their own rules. */
export interface WatchedThread {
  readonly name: string
  readonly isRunning: boolean
  /** Resolves when it answers, rejects when it has ended; null: it does not run. */
  ping(): Promise<unknown> | null
  /** It has not answered for so long. Says what was done: another takes its place, or it is waited for. */
  silent(ms: number): 'replaced' | 'waits'
  /** It answers again, where it was waited for. */
  answers?(): void
}

export interface ThreadWatchParts {
  readonly silent_ms: number
  readonly log: Log
  announce(type: EventType, flow: string | null, more: Record<string, unknown>): void
}

interface Seen {
  readonly thread: WatchedThread
  /** When the ping that waits for its answer was sent; null: none waits. */
  pinged_ms: number | null
  next_ms: number
  silent: boolean
}

/**
 * Pings every thread once a second. One that does not answer for `silent_ms` is dealt with by its own rule, told in an event and in
 * the log.
 *
 *   answering --no answer for silent_ms--> silent --it is replaced, or answers--> answering
 */
export class ThreadWatch {
  readonly #parts: ThreadWatchParts
  readonly #threads: readonly Seen[]
  #looked_ms = 0

  constructor(parts: ThreadWatchParts, threads: readonly WatchedThread[]) {
    this.#parts = parts
    this.#threads = threads.map(thread => ({ thread, pinged_ms: null, next_ms: 0, silent: false }))
  }

  /** Names of those that do not answer and are waited for. */
  get silent(): string[] {
    return this.#threads.filter(({ silent }) => silent).map(({ thread }) => thread.name)
  }

  /** Names of those that run. */
  get running(): string[] {
    return this.#threads.filter(({ thread }) => thread.isRunning).map(({ thread }) => thread.name)
  }

  /** Called a few times a second. */
  look(now_ms: number): void {
    // The front itself was held up, or the whole process: nobody is blamed for that time.
    const since_ms = now_ms - this.#looked_ms
    const late_ms = since_ms > limits.THREAD_PING_MS ? since_ms : 0
    this.#looked_ms = now_ms
    for (const seen of this.#threads) {
      if (seen.pinged_ms === null) this.#ping(seen, now_ms)
      else {
        seen.pinged_ms += late_ms
        if (!seen.silent && now_ms - seen.pinged_ms >= this.#parts.silent_ms) this.#isSilent(seen, now_ms)
      }
    }
  }

  #ping(seen: Seen, now_ms: number): void {
    if (now_ms < seen.next_ms) return
    const answered = seen.thread.ping()
    if (answered === null) return
    seen.pinged_ms = now_ms
    seen.next_ms = now_ms + limits.THREAD_PING_MS
    const over = (): void => {
      seen.pinged_ms = null
      if (!seen.silent) return
      seen.silent = false
      seen.thread.answers?.()
      this.#tell(seen, 'thread_answers', {})
    }
    // Rejected: it has ended, which whoever owns it deals with.
    answered.then(over, over)
  }

  #isSilent(seen: Seen, now_ms: number): void {
    const ms = now_ms - seen.pinged_ms!
    const done = seen.thread.silent(ms)
    seen.silent = done === 'waits'
    const told = { code: 'thread_silent', silent_s: Math.round(ms / 1000) }
    this.#tell(seen, done === 'replaced' ? 'thread_replaced' : 'thread_silent', told)
  }

  #tell({ thread }: Seen, type: EventType, more: Record<string, unknown>): void {
    const told = { thread: thread.name, ...more }
    this.#parts.log.warn(type, told)
    this.#parts.announce(type, null, told)
  }
}
