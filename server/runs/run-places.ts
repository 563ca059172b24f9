export interface RunPlacesParts {
  /** `FLOW_MAX_RUNS`. */
  readonly count: number
  /** No queued run is begun while so many runs are set aside, or so much of them is in memory. */
  readonly most_aside: number
  readonly most_bytes: number
}

/** A run that has begun: it holds a place, or is set aside and may want one again. */
export interface PlaceHolder {
  /** In the order in which runs were begun; the lowest number is the oldest. */
  readonly age: number
  /** It holds a place again. */
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
 * A run that is set aside waits for resources, or for another run that computes the same. One that wants its place back comes before
 * every queued run, since it is older than they are. Whoever holds a place executes, so a place always becomes free again. The bounds hold
 * queued runs back, never one that is set aside: a place that is kept by a run which waits could be the one that the owner of the card wants.
 */
export class RunPlaces {
  readonly #parts: RunPlacesParts
  readonly #placed = new Set<PlaceHolder>()
  readonly #aside = new Map<PlaceHolder, Aside>()
  /** Taken for queued runs that are not begun yet. */
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

  /** A place for the oldest queued run. False: there is none for it now. */
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

  /** It has not. */
  giveBack(): void {
    this.#taken--
    this.#next()
  }

  /** Of a run that has ended: its place goes to a queued run. False: it has none, or an older run wants it; `leave` then. */
  pass(holder: PlaceHolder): boolean {
    if (!this.#placed.has(holder) || !this.#mayBegin()) return false
    this.#placed.delete(holder)
    this.#taken++
    return true
  }

  /** As `pass`, of a place that was taken for a run that has not begun. False: `giveBack` then. */
  passTaken(): boolean {
    return this.#mayBegin()
  }

  leave(holder: PlaceHolder): void {
    this.#placed.delete(holder)
    this.#forget(holder)
    this.#next()
  }

  /** `bytes`: what of it stays in memory. */
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

  /** Free places go to those who want theirs back, oldest first. */
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
