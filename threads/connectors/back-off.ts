import { limits } from '../../protocol/limits.ts'

/**
 * How long to wait before something outside is tried again: from 1 s, twice as long after each failure, up to 60 s, each shortened at
 * random by up to a half so that many do not come back at once.
 */
export class BackOff {
  readonly #random: () => number
  #failures = 0

  constructor(random: () => number) {
    this.#random = random
  }

  /** Milliseconds. */
  failed(): number {
    const whole = Math.min(limits.CONNECTOR_BACK_OFF_MAX_MS, limits.CONNECTOR_BACK_OFF_MIN_MS * 2 ** this.#failures)
    this.#failures = Math.min(this.#failures + 1, 30)
    return whole * (1 - this.#random() / 2)
  }

  succeeded(): void {
    this.#failures = 0
  }
}
