import { limits } from '../../../protocol/limits.ts'
import type { TimeseriesPoint } from '../../../protocol/nouns/summary.ts'
import { formatTime } from '../../../protocol/time.ts'
import type { Connection, Statement } from '../file/database.ts'
import type { Sample, TimeseriesRequest } from '../front/requests.ts'

const SECOND_US = 1_000_000
const HOUR_S = 3600
/** Older samples are joined into bins of `COARSE_S`, and dropped after `KEPT_HOURS`. */
const FINE_HOURS = 48
const COARSE_S = 600
const KEPT_HOURS = limits.TIMESERIES_HOURS

/** The engine's own figures, a row each few seconds. */
export class Samples {
  readonly #put: Statement
  readonly #joinOld: Statement
  readonly #dropJoined: Statement
  readonly #dropOld: Statement

  constructor(db: Connection) {
    this.#put = db.prepare(
      `INSERT INTO samples (ts, published, executions, errors, cascades, waiting, sockets) VALUES (?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (ts) DO UPDATE SET published = published + excluded.published, executions = executions + excluded.executions,
       errors = errors + excluded.errors, cascades = cascades + excluded.cascades, waiting = max(waiting, excluded.waiting),
       sockets = max(sockets, excluded.sockets)`,
    )
    const coarse = COARSE_S * SECOND_US
    this.#joinOld = db.prepare(
      `INSERT INTO samples (ts, published, executions, errors, cascades, waiting, sockets)
       SELECT ts - ts % ${coarse} AS bin, sum(published), sum(executions), sum(errors), sum(cascades), max(waiting), max(sockets)
       FROM samples WHERE ts < ? AND ts % ${coarse} <> 0 GROUP BY bin
       ON CONFLICT (ts) DO UPDATE SET published = published + excluded.published, executions = executions + excluded.executions,
       errors = errors + excluded.errors, cascades = cascades + excluded.cascades, waiting = max(waiting, excluded.waiting),
       sockets = max(sockets, excluded.sockets)`,
    )
    this.#dropJoined = db.prepare(`DELETE FROM samples WHERE ts < ? AND ts % ${coarse} <> 0`)
    this.#dropOld = db.prepare('DELETE FROM samples WHERE ts < ?')
  }

  write(sample: Sample): void {
    const { published, executions, errors, cascades, waiting, sockets } = sample
    this.#put.run(Math.floor(sample.ts), published, executions, errors, cascades, waiting, sockets)
  }

  /** Upkeep, now and then: whole coarse bins only, so that none is joined twice. */
  coarsen(now_us: number): void {
    const coarse = COARSE_S * SECOND_US
    const before = Math.floor((now_us - FINE_HOURS * HOUR_S * SECOND_US) / coarse) * coarse
    this.#joinOld.run(before)
    this.#dropJoined.run(before)
    this.#dropOld.run(now_us - KEPT_HOURS * HOUR_S * SECOND_US)
  }
}

/** Bins that are closed at `now_us` and hold a sample, oldest first, the newest `TIMESERIES_POINTS` of the window. */
export function readTimeseries(db: Connection, query: TimeseriesRequest, now_us: number): TimeseriesPoint[] {
  const bucket = Math.max(1, Math.round(query.bucket_s * SECOND_US))
  const until = Math.min(query.until ?? now_us, now_us)
  const hours = query.hours === 0 ? 1 : query.hours
  const since = query.since ?? until - hours * HOUR_S * SECOND_US
  // The bin that is still being written is held back.
  const end = Math.min(Math.ceil(until / bucket), Math.floor(now_us / bucket)) * bucket
  const start = Math.floor(since / bucket) * bucket
  const rows = db
    .prepare(
      `SELECT ts - ts % ? AS bin, sum(published) AS published, sum(executions) AS executions, sum(errors) AS errors,
       sum(cascades) AS cascades, max(waiting) AS waiting, max(sockets) AS sockets
       FROM samples WHERE ts >= ? AND ts < ? GROUP BY bin ORDER BY bin DESC LIMIT ?`,
    )
    .all(BigInt(bucket), start, end, limits.TIMESERIES_POINTS) as (Omit<TimeseriesPoint, 'ts'> & { bin: number })[]
  return rows.reverse().map(({ bin, ...figures }) => ({ ts: formatTime(bin), ...figures }))
}
