import type { Connection, Statement } from '../file/database.ts'

/** The clock was set back from `from_us` to `to_us`. Microseconds since 1970. */
export interface SetBack {
  readonly to_us: number
  readonly from_us: number
  /** The first time that it showed while it was ahead; `to_us` when it had been right, so that the whole stretch came twice. */
  readonly ahead_us: number
}

/** The setting of the database that holds the newest of them, as JSON. */
export const SET_BACKS = 'clock_set_back'
const KEPT = 64

/** Empty when the row is damaged: then points are ordered by time, and no start or read fails. */
export function parseSetBacks(text: string | undefined): SetBack[] {
  if (text === undefined) return []
  try {
    const all: unknown = JSON.parse(text)
    return Array.isArray(all) ? all : []
  } catch {
    return []
  }
}

export const withSetBack = (known: readonly SetBack[], next: SetBack): SetBack[] => [...known, next].slice(-KEPT)

/**
 * The order of a message's points: by time, except where the clock was set back. There times come twice, so versions decide. Points with
 * times in the future were made before the clock was set back.
 */
export class PointOrder {
  readonly #all: readonly SetBack[]
  /** Stretches of time that came twice; they do not overlap and are in order. */
  readonly #twice: { to_us: number; from_us: number }[] = []
  readonly #now_us: number

  constructor(all: readonly SetBack[], now_us: number) {
    this.#all = all
    this.#now_us = now_us
    const wasTwice = ({ ahead_us, to_us }: SetBack, i: number): boolean =>
      ahead_us === to_us || now_us >= ahead_us || all.slice(i + 1).some(later => later.from_us >= ahead_us)
    for (const { to_us, from_us } of all.filter(wasTwice).sort((a, b) => a.to_us - b.to_us)) {
      const last = this.#twice.at(-1)
      if (last !== undefined && to_us <= last.from_us) last.from_us = Math.max(last.from_us, from_us)
      else this.#twice.push({ to_us, from_us })
    }
  }

  /** The place of a time in the order, never later than `ts`. Points of the same place are ordered by version. */
  place(ts: number): number {
    if (this.#all.length === 0) return ts
    const stretch = this.#stretch(ts)
    if (stretch !== undefined) return stretch.to_us
    if (ts <= this.#now_us) return ts
    const ahead = this.#all.find(({ ahead_us, from_us }) => ts >= ahead_us && ts <= from_us)
    return ahead === undefined ? ts : this.place(ts - (ahead.from_us - ahead.to_us))
  }

  /** Whether a point with a time up to `ts_max` may be newer than one with the time `ts`. */
  mayBeNewer(ts_max: number, ts: number): boolean {
    return this.place(ts) <= ts_max
  }

  /** The latest time that a point before `ts` in this order may have. */
  latest(ts: number): number {
    const place = this.place(ts)
    return [...this.#all, ...this.#twice].reduce(
      (most, { to_us, from_us }) => (to_us <= place ? Math.max(most, from_us) : most),
      ts,
    )
  }

  #stretch(ts: number): { to_us: number; from_us: number } | undefined {
    return this.#twice.find(({ to_us, from_us }) => ts >= to_us && ts <= from_us)
  }
}

/** Reads the set-backs that the front has stored. */
export class SetBackReader {
  readonly #setting: Statement<{ value: string }>

  constructor(db: Connection) {
    this.#setting = db.prepare(`SELECT value FROM settings WHERE name = '${SET_BACKS}'`)
  }

  order(now_us: number): PointOrder {
    return new PointOrder(parseSetBacks(this.#setting.get()?.value), now_us)
  }
}
