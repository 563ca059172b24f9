import type { Connection, Statement } from '../file/database.ts'
import type { RunSelection } from '../front/runs.ts'
import { ALL_FLOWS } from './rows.ts'

/** A run of a selection, as little as others need to find what belongs to it. */
export interface SelectedRun {
  seq: number
  id: string
  /** Its row. */
  flow: number
  created_at: number
}

/**
 * Which runs are meant, newest first. Each selection names the index that it goes by: SQLite would have to guess from
 * statistics that a growing file never has right.
 */
export class RunSelections {
  readonly #db: Connection
  readonly #statements = new Map<string, Statement>()
  readonly #flow: Statement<number>
  readonly #counted: Statement<number>

  constructor(db: Connection) {
    this.#db = db
    this.#flow = db.prepare('SELECT id FROM flows WHERE name = ?').pluck() as Statement<number>
    this.#counted = db
      .prepare('SELECT total(count) FROM run_counts WHERE flow = @flow AND (@status IS NULL OR status = @status)')
      .pluck() as Statement<number>
  }

  page(selection: RunSelection, limit: number, offset: number): SelectedRun[] {
    const { from, values } = this.#from(selection)
    const sql = `SELECT r.seq, r.id, r.flow, r.created_at FROM runs r WHERE r.seq IN (
      SELECT seq FROM (${from}) ORDER BY created_at DESC LIMIT ? OFFSET ?) ORDER BY r.seq DESC`
    return this.#prepared(sql).all(...values, limit, offset) as SelectedRun[]
  }

  /** Without a group or times it is kept, and costs the same however many there are. */
  count(selection: RunSelection): number {
    if (selection.group === null && noTags(selection) && selection.since === null && selection.before === null) {
      const flow = selection.flow === null ? ALL_FLOWS : this.#flowOf(selection.flow)
      return this.#counted.get({ flow, status: selection.status })!
    }
    const { from, values } = this.#from(selection)
    const { count } = this.#prepared(`SELECT count(*) AS count FROM (${from})`).get(...values) as {
      count: number
    }
    return count
  }

  /** `seq` and `created_at` of what is selected. A group has the runs that began in it and those that joined it. */
  #from(selection: RunSelection): { from: string; values: unknown[] } {
    const { flow, group, status, tags = [] } = selection
    const { conditions, values } = this.#conditions(selection)
    const where = (first: string[]): string => {
      const all = [...first, ...conditions]
      return all.length === 0 ? '' : ` WHERE ${all.join(' AND ')}`
    }
    const columns = 'SELECT r.seq, r.created_at FROM'
    const own = (first: string[]): string =>
      `${columns} runs r INDEXED BY ${indexFor(flow, group, status)}${where(first)}`
    if (group === null && tags.length > 0) {
      const from = `SELECT r.seq, t.created_at FROM run_tags t CROSS JOIN runs r ON r.seq = t.run${where(['t.tag = ?'])}`
      return { from, values: [tags[0], ...values] }
    }
    if (group === null) return { from: own([]), values }
    const joined = `SELECT r.seq, g.created_at FROM run_groups g CROSS JOIN runs r ON r.seq = g.run${where(['g.grouped = ?'])}`
    return { from: `${own(['r.grouped = ?'])} UNION ALL ${joined}`, values: [group, ...values, group, ...values] }
  }

  #conditions({ flow, group, tags = [], status, since, before }: RunSelection): {
    conditions: string[]
    values: unknown[]
  } {
    const conditions: string[] = []
    const values: unknown[] = []
    const where = (condition: string, value: unknown): void => {
      if (value === null) return
      conditions.push(condition)
      values.push(value)
    }
    where('r.flow = ?', flow === null ? null : this.#flowOf(flow))
    where('r.status = ?', status)
    where('r.created_at >= ?', since)
    where('r.created_at < ?', before)
    // Without a group the first tag is what the runs are found by.
    for (const tag of tags.slice(group === null ? 1 : 0))
      where('EXISTS (SELECT 1 FROM run_tags o WHERE o.tag = ? AND o.created_at = r.created_at)', tag)
    return { conditions, values }
  }

  #flowOf(name: string): number {
    return this.#flow.get(name) ?? -1
  }

  /** There are at most as many texts as combinations of filters. */
  #prepared(sql: string): Statement {
    let statement = this.#statements.get(sql)
    if (!statement) {
      statement = this.#db.prepare(sql)
      this.#statements.set(sql, statement)
    }
    return statement
  }
}

const noTags = ({ tags = [] }: RunSelection): boolean => tags.length === 0

function indexFor(flow: string | null, group: string | null, status: string | null): string {
  if (group !== null) return 'runs_of_group'
  if (flow !== null) return status === null ? 'runs_of_flow' : 'runs_of_flow_by_status'
  return status === null ? 'runs_by_time' : 'runs_by_status'
}
