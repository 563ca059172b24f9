export interface RunPlacesParts {
  /** `FLOW_MAX_RUNS`. */
  readonly count: number
  /** No queued run begins while this many runs are set aside, or this many bytes of them are in memory. */
  readonly most_aside: number
  readonly most_bytes: number
}

/** A run that has begun: it holds a place, or is set aside and may want one again. */
export interface PlaceHolder {
  /** The order in which runs began; the lowest number is the oldest. */
  readonly age: number
  /** The run holds a place again. */
  placed(): void
}

interface Aside {
  readonly bytes: number
  wants: boolean
}

/**
 * The places of the runs that execute, `FLOW_MAX_RUNS` of them.
 *
 *   queued run --take--> placed --setAside--> aside --want--> waits for a place --a place is free, oldest first--> placed
 *                        placed --leave--> gone <--leave-- aside, waits for a place
 *
 * A run that is set aside waits for resources, or for another run that computes the same key. When it wants a place back it comes before
 * every queued run, since it is older. A run with a place executes, so a place always becomes free again. The bounds only stop
 * queued runs, never one that is set aside. If a waiting run kept its place, the owner of the resources might never get one back.
 */
export class RunPlaces {
  readonly #parts: RunPlacesParts
  readonly #placed = new Set<PlaceHolder>()
  readonly #aside = new Map<PlaceHolder, Aside>()
  /** Places that were taken for queued runs that have not begun yet. */
  #taken = 0
  #bytes = 0
  #wanting = 0

  constructor(parts: RunPlacesParts) {
    this.#parts = parts
  }

  get free(): number {
    return this.#parts.count - this.#placed.size - this.#taken
  }

  /** Runs that hold no place, and those among them that want one. */
  get aside(): { count: number; wanting: number } {
    return { count: this.#aside.size, wanting: this.#wanting }
  }

  /** Takes a place for the oldest queued run. False when none is free. */
  take(): boolean {
    if (this.free <= 0 || !this.#mayBegin()) return false
    this.#taken++
    return true
  }

  /** The queued run of a place that was taken has begun. */
  begun(holder: PlaceHolder): void {
    this.#taken--
    this.#placed.add(holder)
  }

  /** The queued run of a place that was taken has not begun. */
  giveBack(): void {
    this.#taken--
    this.#next()
  }

  /** Passes the place of a run that has ended to a queued run. False when it has none or an older run wants it; call `leave` then. */
  pass(holder: PlaceHolder): boolean {
    if (!this.#placed.has(holder) || !this.#mayBegin()) return false
    this.#placed.delete(holder)
    this.#taken++
    return true
  }

  /** As `pass`, for a place that was taken for a run that has not begun. False: call `giveBack`. */
  passTaken(): boolean {
    return this.#mayBegin()
  }

  leave(holder: PlaceHolder): void {
    this.#placed.delete(holder)
    this.#forget(holder)
    this.#next()
  }

  /** `bytes`: how much memory the run keeps. */
  setAside(holder: PlaceHolder, bytes: number): void {
    if (!this.#placed.delete(holder)) return
    this.#aside.set(holder, { bytes, wants: false })
    this.#bytes += bytes
    this.#next()
  }

  /** `placed` follows, now or later. */
  want(holder: PlaceHolder): void {
    const aside = this.#aside.get(holder)
    if (aside === undefined || aside.wants) return
    aside.wants = true
    this.#wanting++
    this.#next()
  }

  #mayBegin(): boolean {
    const { most_aside, most_bytes } = this.#parts
    return this.#wanting === 0 && this.#aside.size < most_aside && this.#bytes < most_bytes
  }

  #forget(holder: PlaceHolder): void {
    const aside = this.#aside.get(holder)
    if (aside === undefined) return
    this.#aside.delete(holder)
    this.#bytes -= aside.bytes
    if (aside.wants) this.#wanting--
  }

  /** Gives free places to runs that want one back, oldest first. */
  #next(): void {
    while (this.free > 0 && this.#wanting > 0) {
      let oldest: PlaceHolder | null = null
      for (const [holder, { wants }] of this.#aside)
        if (wants && (oldest === null || holder.age < oldest.age)) oldest = holder
      this.#forget(oldest!)
      this.#placed.add(oldest!)
      oldest!.placed()
    }
  }
}
