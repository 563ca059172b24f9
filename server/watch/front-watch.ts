import { limits } from '../../protocol/limits.ts'
import type { Log } from '../observe/serve-log.ts'

/** Work that may hold the front: the requests of one route, as `PUT /flows/{name}`. */
export interface Watched {
  readonly label: string
  /** Requests whose handler has begun and not answered. */
  pending: number
}

export interface HeldCounts {
  /** Stretches over the bound since the start. */
  stretches: number
  longest_ms: number
  /** By route; `outside` is work of no request, or of one that had waited for another thread. */
  readonly by: ReadonlyMap<string, number>
}

export interface FrontWatchOptions {
  readonly log: Pick<Log, 'warn'>
  /** How often the event loop is looked at; a stretch outside of requests is seen for sure when it is longer than the bound by this. */
  readonly look_ms?: number
}

const OUTSIDE = 'outside'
const BOUND_MS = limits.FRONT_HELD_MS
/** A reading of the processor time costs a microsecond: one serves all requests that begin within so long. */
const CPU_READ_MS = 1

/**
 * Counts and logs what holds the front thread for longer than `limits.FRONT_HELD_MS`. Requests are measured where they run, by
 * the wall; what runs besides, by a look at the event loop every so often. Both count only if the thread had the processor
 * for that long, so that a loaded machine is no fault of the engine.
 */
export class FrontWatch {
  readonly #log: Pick<Log, 'warn'>
  readonly #look_ms: number
  readonly #watched: Watched[] = []
  readonly #by = new Map<string, number>()
  readonly #logged_ms = new Map<string, number>()
  #stretches = 0
  #longest_ms = 0
  #timer: NodeJS.Timeout | null = null
  #looked_ms = performance.now()
  #looked_cpu_ms = cpuMs()
  /** The processor time of this thread as it was last read before a request, and when that was. */
  #read_ms = Number.NEGATIVE_INFINITY
  #read_cpu_ms = 0
  /** Spent in requests since the last look. */
  #measured_ms = 0

  constructor({ log, look_ms = limits.FRONT_LOOK_MS }: FrontWatchOptions) {
    this.#log = log
    this.#look_ms = look_ms
  }

  /** What was before is not looked at: the modules of the engine had been loaded then. */
  start(): void {
    this.#looked_ms = performance.now()
    this.#looked_cpu_ms = cpuMs()
    this.#timer ??= setInterval(() => this.#look(), this.#look_ms).unref()
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer)
    this.#timer = null
  }

  /** Routes that are named when a stretch falls outside of requests while some of theirs are under way. */
  follow(watched: readonly Watched[]): void {
    this.#watched.push(...watched)
  }

  counts(): HeldCounts {
    return { stretches: this.#stretches, longest_ms: this.#longest_ms, by: this.#by }
  }

  /** Runs one piece of a request: all that it does before the event loop goes on. */
  run(watched: Watched, work: () => void): void {
    const began_ms = performance.now()
    if (began_ms - this.#read_ms >= CPU_READ_MS) {
      this.#read_ms = began_ms
      this.#read_cpu_ms = cpuMs()
    }
    try {
      work()
    } finally {
      const ms = performance.now() - began_ms
      this.#measured_ms += ms
      if (ms > BOUND_MS) {
        const cpu_ms = Math.min(ms, cpuMs() - this.#read_cpu_ms)
        if (cpu_ms > BOUND_MS) this.#held(watched.label, cpu_ms, [])
      }
    }
  }

  #look(): void {
    const now_ms = performance.now()
    const late_ms = now_ms - this.#looked_ms - this.#look_ms
    const measured_ms = this.#measured_ms
    const before_cpu_ms = this.#looked_cpu_ms
    this.#looked_ms = now_ms
    this.#looked_cpu_ms = cpuMs()
    this.#measured_ms = 0
    if (late_ms <= BOUND_MS) return
    const outside_ms = Math.min(late_ms, this.#looked_cpu_ms - before_cpu_ms) - measured_ms
    if (outside_ms <= BOUND_MS) return
    const during = this.#watched.filter(one => one.pending > 0).map(one => one.label)
    this.#held(OUTSIDE, outside_ms, during)
  }

  #held(label: string, ms: number, during: readonly string[]): void {
    this.#stretches++
    this.#longest_ms = Math.max(this.#longest_ms, ms)
    this.#by.set(label, (this.#by.get(label) ?? 0) + 1)
    const now_ms = performance.now()
    if (now_ms - (this.#logged_ms.get(label) ?? Number.NEGATIVE_INFINITY) < limits.FRONT_HELD_LOGGED_MS) return
    this.#logged_ms.set(label, now_ms)
    this.#log.warn('front_held', { by: label, ms: Math.round(ms), ...(during.length > 0 ? { during } : {}) })
  }
}

/** Of this thread. */
function cpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}
