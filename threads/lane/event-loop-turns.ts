/** The event loop of a lane that runs bodies now and then has its turn this often, and once after the last of them. */
const SERVE_MS = 20
/** The longest sleep: what is looked at by the clock (open records, clock drift, gauges) is looked at this often. */
export const SLEEP_MS = 500

/**
 * When the event loop is to have its turn. What bodies leave behind must not wait for the end of a deaf sleep: what one that
 * was away does after its end (a generator's `finally`) is served at once, the rest (a rejection that nobody awaits) soon.
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

/** Does the event loop hold anything of a body's: a timer, a socket, a file? The lane then must not sleep deaf. */
export const hasHandles = (): boolean =>
  process.getActiveResourcesInfo().some(kind => kind !== 'MessagePort' && kind !== 'TTYWrap' && kind !== 'PipeWrap')
