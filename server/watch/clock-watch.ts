import type { Clock } from '../../core/memory/clock.ts'
import { limits } from '../../protocol/limits.ts'
import type { EventType } from '../../protocol/nouns/event.ts'
import { formatTime } from '../../protocol/time.ts'

export interface ClockJump {
  /** Microseconds since 1970 at one moment, by the clock as it stood and as it was set. */
  readonly from_us: number
  readonly to_us: number
  /** Since when it had been ahead, by its own time: what it went back to, at the latest; `to_us` when it had been right. */
  readonly ahead_us: number
}

/** A jump forward that is not believed yet, as it is kept for the next start. Microseconds; `believed_us` since 1970. */
export interface ClockDoubt {
  readonly doubt_us: number
  readonly believed_us: number
}

/** The setting of the database that holds it, as JSON. */
export const CLOCK_DOUBT = 'clock_doubt'

export function parseClockDoubt(text: string | undefined): ClockDoubt | null {
  if (text === undefined) return null
  try {
    return JSON.parse(text) as ClockDoubt
  } catch {
    return null
  }
}

export interface ClockWatchParts {
  readonly clock: Clock
  /** The machine's clock, milliseconds since 1970. */
  readonly wall_ms: () => number
  announce(type: EventType, flow: string | null, more: Record<string, unknown>): void
  /** What the engine before this one did not believe; null: nothing. */
  readonly doubt: ClockDoubt | null
  doubted(doubt: ClockDoubt): void
  /** It was set; timestamps follow it already. */
  jumped(jump: ClockJump): void
}

const FOLLOW_US = limits.CLOCK_FOLLOW_MS * 1000
const JUMP_US = limits.CLOCK_JUMP_MS * 1000
const BELIEVED_US = limits.CLOCK_BELIEVED_MS * 1000
/** The machine's clock says whole milliseconds: it is half a one further on average. */
const HALF_MS_US = 500
const MOST_APART_US = 1_000

/**
 * Compares the machine's clock with the monotonic one and sets the engine's after it, the only writer of its words. What drifts by
 * little is followed in silence; a jump is told. A jump forward is not believed at once where things are removed by their age: the
 * clock may be set back, and what it removed would be gone.
 */
export class ClockWatch {
  readonly #parts: ClockWatchParts
  /** When the clock last went forward at once, by the steady clock. */
  #forward_us = 0
  /** And where it went to, the first time since it was believed. */
  #ahead_us = 0

  constructor(parts: ClockWatchParts) {
    this.#parts = parts
    const { clock, doubt } = parts
    if (doubt === null || doubt.doubt_us <= 0) return
    const left_us = Math.min(BELIEVED_US, doubt.believed_us - clock.now_us())
    if (left_us <= 0) return
    clock.shift(0, doubt.doubt_us)
    this.#forward_us = clock.steady_us() - (BELIEVED_US - left_us)
    this.#ahead_us = clock.now_us() - (BELIEVED_US - left_us)
  }

  /** A few times a second. */
  look(): void {
    const { clock, wall_ms, announce, jumped } = this.#parts
    const before_us = clock.now_us()
    const wall_us = wall_ms() * 1000 + HALF_MS_US
    const from_us = clock.now_us()
    const steady_us = clock.steady_us()
    if (clock.doubt_us > 0 && steady_us - this.#forward_us >= BELIEVED_US) clock.shift(0, 0)
    // The thread lost its processor between the two clocks: the next look tells.
    if (from_us - before_us > MOST_APART_US) return
    const by_us = wall_us - from_us
    if (Math.abs(by_us) < FOLLOW_US) return
    const isJump = Math.abs(by_us) >= JUMP_US
    const to_us = from_us + by_us
    const ahead_us = by_us < 0 && clock.doubt_us > 0 ? Math.max(to_us, this.#ahead_us) : to_us
    if (isJump && by_us > 0) {
      this.#forward_us = steady_us
      if (clock.doubt_us === 0) this.#ahead_us = to_us
    }
    clock.shift(by_us, by_us < 0 || isJump ? Math.max(0, clock.doubt_us + by_us) : clock.doubt_us)
    if (!isJump) return
    const left_us = BELIEVED_US - (steady_us - this.#forward_us)
    this.#parts.doubted({ doubt_us: clock.doubt_us, believed_us: to_us + left_us })
    jumped({ from_us, to_us, ahead_us })
    announce('clock_changed', null, {
      by_s: Math.round(by_us / 1000) / 1000,
      from: formatTime(from_us),
      to: formatTime(to_us),
    })
  }
}
