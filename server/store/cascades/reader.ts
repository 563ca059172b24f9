import { ServiceError } from '../../../protocol/errors.ts'
import type { Cascade } from '../../../protocol/nouns/cascade.ts'
import { type CascadeKey, cascadeId, parseCascadeId } from '../../../protocol/nouns/cascade-id.ts'
import type { List } from '../../../protocol/nouns/list.ts'
import { formatTime } from '../../../protocol/time.ts'
import { pageOf } from '../../list-page.ts'
import type { Connection, Statement } from '../file/database.ts'
import { readable } from '../file/unreadable.ts'
import type { CascadesRequest } from '../front/requests.ts'
import { countIn, decodeCascades } from './chunk.ts'
import { EARLIER } from './earlier.ts'
import { type CascadeColumn, CascadeRows, COLUMN, WIDTH } from './pending.ts'

const STATUSES = ['', 'succeeded', 'failed', 'interrupted', 'running'] as const
const NEVER = Number.MAX_SAFE_INTEGER
const RUNNING = 4

interface ChunkRow {
  id: number
  epoch: number
  count: number
  started_min: number
  started_max: number
}
type RunningRow = { epoch: number } & Record<CascadeColumn, number>

interface Candidate {
  epoch: number
  started: number
  seq: number
  /** Index in `rows`. */
  row: number
}

/** Lists cascade records from their chunks and from `running`, newest start first. */
export class CascadeReader {
  readonly #db: Connection
  readonly #flow: Statement<{ id: number }>
  readonly #flowName: Statement<{ name: string }>
  readonly #messageName: Statement<{ name: string }>
  readonly #chunks: Statement<ChunkRow>
  readonly #counts: Statement<{ flows: Buffer }>
  readonly #bytes: Statement<{ bytes: Buffer }>
  readonly #bySeq: Statement<{ id: number; bytes: Buffer }>
  readonly #running: Statement<RunningRow>
  readonly #oneRunning: Statement<RunningRow>

  constructor(db: Connection) {
    this.#db = db
    this.#flow = db.prepare('SELECT id FROM flows WHERE name = ?')
    this.#flowName = db.prepare('SELECT name FROM flows WHERE id = ?')
    this.#messageName = db.prepare('SELECT name FROM messages WHERE id = ?')
    this.#chunks = db.prepare(
      `SELECT id, epoch, count, started_min, started_max FROM cascades WHERE started_max >= ? AND started_min < ? ORDER BY started_max DESC`,
    )
    this.#counts = db.prepare('SELECT flows FROM cascades WHERE id = ?')
    this.#bytes = db.prepare('SELECT bytes FROM cascades WHERE id = ?')
    this.#bySeq = db.prepare('SELECT id, bytes FROM cascades WHERE epoch = ? AND seq_max >= ? AND seq_min <= ?')
    const columns = `epoch, started, 0 AS duration, seq, flow, message, root_version, ${RUNNING} AS status, executions, errors, parent_seq, parent_ts`
    this.#running = db.prepare(`SELECT ${columns} FROM running WHERE started >= ? AND started < ?`)
    this.#oneRunning = db.prepare(`SELECT ${columns} FROM running WHERE epoch = ? AND seq = ?`)
  }

  list(query: CascadesRequest, now_us: number): List<Cascade> {
    const snapshot = this.#db.transaction(() => this.#list(query, now_us))
    return snapshot.deferred()
  }

  get(id: string, now_us: number): Cascade {
    const key = parseCascadeId(id)
    // One snapshot: between two reads a cascade may end and move from `running` into a chunk.
    const found = key === null ? null : this.#db.transaction(() => this.#find(key)).deferred()
    if (found === null || key === null) {
      throw new ServiceError('cascade_not_found', `There is no cascade "${id}", or its record was removed by age.`)
    }
    return this.#cascade(found, 0, key.engine_epoch, now_us, new Map())
  }

  #find(key: CascadeKey): CascadeRows | null {
    const { engine_epoch, seq } = key
    const one = new CascadeRows(1)
    for (const { id, bytes } of this.#bySeq.all(engine_epoch, seq, seq)) {
      const rows = new CascadeRows(1)
      readable('cascades', { id }, () => decodeCascades(bytes, rows))
      for (let row = 0; row < rows.count; row++) {
        if (!isOf(key, rows, row)) continue
        one.values.set(rows.values.subarray(row * WIDTH, (row + 1) * WIDTH), one.add())
        return one
      }
    }
    const running = this.#oneRunning.get(engine_epoch, seq)
    if (!running) return null
    addRunning(one, running)
    return isOf(key, one, 0) ? one : null
  }

  /** The id of the parent, of this engine or of one before a restart. */
  #parentOf(epoch: number, ts: number, seq: number): string | null {
    return ts < 2 * EARLIER ? this.#idOf(ts - EARLIER, seq) : cascadeId(epoch, ts, seq)
  }

  /** Null when its record was removed. */
  #idOf(epoch: number, seq: number): string | null {
    for (const { bytes } of this.#bySeq.all(epoch, seq, seq)) {
      const rows = new CascadeRows(1)
      decodeCascades(bytes, rows)
      for (let row = 0; row < rows.count; row++)
        if (rows.get(row, 'seq') === seq) return cascadeId(epoch, rows.get(row, 'started'), seq)
    }
    return null
  }

  #list(query: CascadesRequest, now_us: number): List<Cascade> {
    const since = query.since ?? 0
    const before = query.before ?? NEVER
    const flow = query.flow === null ? null : (this.#flow.get(query.flow)?.id ?? -1)
    const status = query.status === null ? null : STATUSES.indexOf(query.status as 'running')
    const rows = new CascadeRows()
    const candidates: Candidate[] = []
    const want = query.offset + query.limit
    let count = 0

    const take = (from: number, epoch: number): number => {
      let matching = 0
      for (let row = from; row < rows.count; row++) {
        const started = rows.get(row, 'started')
        if (started < since || started >= before) continue
        if (flow !== null && rows.get(row, 'flow') !== flow) continue
        if (status !== null && rows.get(row, 'status') !== status) continue
        candidates.push({ epoch, started, seq: rows.get(row, 'seq'), row })
        matching++
      }
      return matching
    }

    if (status === null || status === RUNNING) {
      for (const running of this.#running.all(since, before)) {
        addRunning(rows, running)
        count += take(rows.count - 1, running.epoch)
      }
    }
    if (status !== RUNNING) {
      let enough = false
      for (const chunk of this.#chunks.all(since, before)) {
        const inside = chunk.started_min >= since && chunk.started_max < before
        if (!enough && candidates.length >= want) {
          candidates.sort(newestFirst)
          // Chunks are ordered by their newest start, so all further ones begin before what is requested.
          enough = want === 0 || candidates[want - 1]!.started > chunk.started_max
          candidates.length = Math.min(candidates.length, want)
        }
        const counted = inside ? this.#countIn(chunk, flow, status) : null
        if (counted !== null) count += counted
        if (counted === 0 || (enough && counted !== null)) continue
        const from = rows.count
        const { bytes } = this.#bytes.get(chunk.id)!
        readable('cascades', { id: chunk.id }, () => decodeCascades(bytes, rows))
        const matching = take(from, chunk.epoch)
        if (counted === null) count += matching
      }
    }
    const page = candidates.sort(newestFirst).slice(query.offset, want)
    const names = new Map<string, string>()
    const items = page.values().map(({ row, epoch }) => this.#cascade(rows, row, epoch, now_us, names))
    return pageOf(items, count, query.offset)
  }

  #countIn(chunk: ChunkRow, flow: number | null, status: number | null): number {
    return flow === null && status === null ? chunk.count : countIn(this.#counts.get(chunk.id)!.flows, flow, status)
  }

  #cascade(rows: CascadeRows, row: number, epoch: number, now_us: number, names: Map<string, string>): Cascade {
    const started = rows.get(row, 'started')
    const status = rows.get(row, 'status')
    const parent_seq = rows.get(row, 'parent_seq')
    const parent_ts = rows.get(row, 'parent_ts')
    const is_rerun = parent_seq !== 0 && parent_ts < EARLIER
    const duration_us = status === RUNNING ? Math.max(0, now_us - started) : rows.get(row, 'duration')
    return {
      id: cascadeId(epoch, started, rows.get(row, 'seq')),
      flow: this.#name(this.#flowName, `flow ${rows.get(row, 'flow')}`, rows.get(row, 'flow'), names),
      root: this.#name(this.#messageName, `message ${rows.get(row, 'message')}`, rows.get(row, 'message'), names),
      root_version: rows.get(row, 'root_version'),
      parent: parent_seq === 0 || is_rerun ? null : this.#parentOf(epoch, parent_ts, parent_seq),
      rerun_of: is_rerun ? this.#idOf(parent_ts, parent_seq) : null,
      started_at: formatTime(started),
      duration: duration_us / 1e6,
      status: STATUSES[status] as Cascade['status'],
      executions: rows.get(row, 'executions'),
      errors: rows.get(row, 'errors'),
    }
  }

  /** A deleted flow whose name was taken has a prefix in its stored name; people see its old name. */
  #name(statement: Statement<{ name: string }>, key: string, id: number, names: Map<string, string>): string {
    const known = names.get(key)
    if (known !== undefined) return known
    const name = (statement.get(id)?.name ?? '').replace(/^~\d+\./, '')
    names.set(key, name)
    return name
  }
}

const isOf = ({ seq, started_ms }: CascadeKey, rows: CascadeRows, row: number): boolean =>
  rows.get(row, 'seq') === seq && Math.floor(rows.get(row, 'started') / 1000) === started_ms

const newestFirst = (a: Candidate, b: Candidate): number => b.started - a.started || b.seq - a.seq

function addRunning(rows: CascadeRows, running: RunningRow): void {
  const at = rows.add()
  for (const [column, place] of Object.entries(COLUMN)) rows.values[at + place] = running[column as CascadeColumn]
}
