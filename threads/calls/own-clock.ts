import { limits } from '../../protocol/limits.ts'

/** Bodies of this thread may replace what the globals name. */
const { Date: Wall, performance } = globalThis
const FOLLOW_US = limits.CLOCK_FOLLOW_MS * 1000

/**
 * The time where bodies run that are not trusted with the engine's memory: the machine's clock, asked for each time, with the
 * microseconds of the monotonic one. It follows when the machine's clock is set, as the engine's does.
 */
export class OwnClock {
  #origin_us = 0

  readonly now_us = (): number => {
    const steady_us = performance.now() * 1000
    const origin_us = Wall.now() * 1000 - steady_us
    if (Math.abs(origin_us - this.#origin_us) > FOLLOW_US) this.#origin_us = origin_us
    return Math.floor(this.#origin_us + steady_us)
  }
}
