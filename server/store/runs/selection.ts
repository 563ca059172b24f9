import type { Connection, Statement } from '../file/database.ts'
import type { RunSelection } from '../front/runs.ts'
import { ALL_FLOWS } from './rows.ts'

/** Runs that are counted per tag or flow to find which has the fewest; takes less than a millisecond. */
const LOOKED = 10_000
const EVERY: RunSelection = { flow: null, group: null, status: null, since: null, before: null }

/** The members of a selected run that others need to find its data. */
export interface SelectedRun {
  seq: number
  id: string
  /** Row number of its flow. */
  flow: number
  created_at: number
}

/** SQL that selects `seq` and `created_at` of runs. */
interface From {
  sql: string
  values: unknown[]
}

class Wanted {
  readonly #from: string
  /** The table whose times are compared. */
  readonly #timed: string
  readonly #conditions: string[] = []
  readonly #values: unknown[] = []

  constructor(from: string, timed: string) {
    this.#from = from
    this.#timed = timed
  }

  /** Adds a condition, unless `value` is null. */
  is(condition: string, value: unknown): void {
    if (value === null) return
    this.#conditions.push(condition)
    this.#values.push(value)
  }

  with({ since, before }: RunSelection, tags: readonly string[]): this {
    const time = `${this.#timed}.created_at`
    this.is(`${time} >= ?`, since)
    this.is(`${time} < ?`, before)
    for (const tag of tags) this.is(`EXISTS (SELECT 1 FROM run_tags o WHERE o.tag = ? AND o.created_at = ${time})`, tag)
    return this
  }

  from(seq: string): From {
    const where = this.#conditions.length === 0 ? '' : ` WHERE ${this.#conditions.join(' AND ')}`
    return { sql: `SELECT ${seq}, ${this.#timed}.created_at FROM ${this.#from}${where}`, values: this.#values }
  }
}

/**
 * Finds the runs of a selection, newest first. Each statement names its index: SQLite would have to choose it from
 * statistics, which are out of date in a growing file.
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
    const { sql: from, values } = this.#from(selection)
    const sql = `SELECT r.seq, r.id, r.flow, r.created_at FROM runs r WHERE r.seq IN (
      SELECT seq FROM (${from}) ORDER BY created_at DESC LIMIT ? OFFSET ?) ORDER BY r.seq DESC`
    return this.#prepared(sql).all(...values, limit, offset) as SelectedRun[]
  }

  /** Without group, tags or times the count is stored, so it takes the same time for any number of runs. */
  count(selection: RunSelection): number {
    if (selection.group === null && noTags(selection) && selection.since === null && selection.before === null) {
      const flow = selection.flow === null ? ALL_FLOWS : this.#flowOf(selection.flow)
      return this.#counted.get({ flow, status: selection.status })!
    }
    return this.#count(this.#from(selection))
  }

  #from(selection: RunSelection): From {
    const { group, tags = [] } = selection
    if (group === null) return tags.length === 0 ? this.#runs(selection, []) : this.#fewest(selection, tags)
    // Runs that were created in the group, and runs that joined it.
    const own = this.#runs(selection, tags)
    const joined = this.#named('run_groups g', 'grouped', group, selection, tags)
    return { sql: `${own.sql} UNION ALL ${joined.sql}`, values: [...own.values, ...joined.values] }
  }

  /** Selects by the tag with the fewest runs, or by flow and status if these have fewer, judged by at most `LOOKED` of each. */
  #fewest(selection: RunSelection, tags: readonly string[]): From {
    const { since, before } = selection
    const without = (tag: string): string[] => tags.filter(other => other !== tag)
    const ways = tags.map(tag => ({
      all: this.#named('run_tags t', 'tag', tag, { ...EVERY, since, before }, []),
      found: this.#named('run_tags t', 'tag', tag, selection, without(tag)),
    }))
    if (selection.flow !== null || selection.status !== null)
      ways.push({ all: this.#runs(selection, []), found: this.#runs(selection, tags) })
    if (ways.length === 1) return ways[0]!.found
    const sizes = ways.map(({ all: { sql, values } }) => this.#count({ sql: `${sql} LIMIT ${LOOKED}`, values }))
    return ways[sizes.indexOf(Math.min(...sizes))]!.found
  }

  #runs(selection: RunSelection, tags: readonly string[]): From {
    const { flow, group, status } = selection
    const wanted = new Wanted(`runs r INDEXED BY ${indexFor(flow, group, status)}`, 'r')
    wanted.is('r.grouped = ?', group)
    this.#ofRun(wanted, selection)
    return wanted.with(selection, tags).from('r.seq')
  }

  /** Selects by a table of names and times of runs. Rows of runs are read only for a flow or a status. */
  #named(table: string, column: string, name: string, selection: RunSelection, tags: readonly string[]): From {
    const alias = table.at(-1)!
    const needsRow = selection.flow !== null || selection.status !== null
    const wanted = new Wanted(needsRow ? `${table} CROSS JOIN runs r ON r.seq = ${alias}.run` : table, alias)
    wanted.is(`${alias}.${column} = ?`, name)
    this.#ofRun(wanted, selection)
    return wanted.with(selection, tags).from(`${alias}.run AS seq`)
  }

  #ofRun(wanted: Wanted, { flow, status }: RunSelection): void {
    wanted.is('r.flow = ?', flow === null ? null : this.#flowOf(flow))
    wanted.is('r.status = ?', status)
  }

  #count({ sql, values }: From): number {
    return (this.#prepared(`SELECT count(*) AS count FROM (${sql})`).get(...values) as { count: number }).count
  }

  #flowOf(name: string): number {
    return this.#flow.get(name) ?? -1
  }

  /** Prepared statements by their text; there are as many as combinations of filters. */
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
