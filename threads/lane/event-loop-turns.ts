/** How often the event loop of a lane that runs bodies gets a turn; it gets one more after the last body. */
const SERVE_MS = 20
/** The longest sleep: periodic work (open records, clock drift, gauges) runs this often. */
export const SLEEP_MS = 500

/**
 * Decides when the event loop gets a turn. Work that bodies leave behind must not wait for the end of a blocking sleep. Work
 * after the end of a body that was away (a generator's `finally`) is served at once, the rest (a rejection that nobody awaits)
 * soon.
 */
export class EventLoopTurns {
  #served = true
  #served_away = true
  #served_ms = 0

  /** Bodies have run; with some away. */
  ran(away: boolean): void {
    this.#served = false
    if (away) this.#served_away = false
  }

  isDue(now_ms: number): boolean {
    return !this.#served_away || (!this.#served && now_ms - this.#served_ms >= SERVE_MS)
  }

  get sleep_ms(): number {
    return this.#served ? SLEEP_MS : SERVE_MS
  }

  async serve(clock: () => number): Promise<void> {
    this.#served = true
    this.#served_away = true
    await new Promise(setImmediate)
    this.#served_ms = clock()
  }
}

/** Does the event loop have resources of a body: a timer, a socket, a file? Then the lane must not block it while it sleeps. */
export const hasHandles = (): boolean =>
  process.getActiveResourcesInfo().some(kind => kind !== 'MessagePort' && kind !== 'TTYWrap' && kind !== 'PipeWrap')
