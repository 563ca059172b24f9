import type { Connection, Statement } from '../file/database.ts'
import type { RunSelection } from '../front/runs.ts'
import { ALL_FLOWS } from './rows.ts'

/** Runs of a tag or a flow that are looked at to find which has the fewest: below a millisecond. */
const LOOKED = 10_000
const EVERY: RunSelection = { flow: null, group: null, status: null, since: null, before: null }

/** A run of a selection, as little as others need to find what belongs to it. */
export interface SelectedRun {
  seq: number
  id: string
  /** Its row. */
  flow: number
  created_at: number
}

/** `seq` and `created_at` of what is selected. */
interface From {
  sql: string
  values: unknown[]
}

class Wanted {
  readonly #from: string
  /** The table that their times are compared in. */
  readonly #timed: string
  readonly #conditions: string[] = []
  readonly #values: unknown[] = []

  constructor(from: string, timed: string) {
    this.#from = from
    this.#timed = timed
  }

  /** Null: whatever it is. */
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
    const { sql: from, values } = this.#from(selection)
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
    return this.#count(this.#from(selection))
  }

  #from(selection: RunSelection): From {
    const { group, tags = [] } = selection
    if (group === null) return tags.length === 0 ? this.#runs(selection, []) : this.#fewest(selection, tags)
    // Those that began in the group and those that joined it.
    const own = this.#runs(selection, tags)
    const joined = this.#named('run_groups g', 'grouped', group, selection, tags)
    return { sql: `${own.sql} UNION ALL ${joined.sql}`, values: [...own.values, ...joined.values] }
  }

  /** By the tag that the fewest runs have, or by flow and status if there are fewer of those, as far as a look at `LOOKED` of each tells. */
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

  /** By a table that has runs by a name and their time. Their rows are read only for what it does not tell. */
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
