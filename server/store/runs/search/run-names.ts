import { CANDIDATES_MAX } from '../../../../protocol/nearest.ts'
import type { Connection, Statement } from '../../file/database.ts'
import type { RunNamesRequest } from '../../front/runs.ts'

/** Names of groups and tags. Each is found by one search in an index, however many runs have it. */
export class RunNames {
  readonly #found: Readonly<Record<RunNamesRequest['of'], readonly Found[]>>

  constructor(db: Connection) {
    const joined = foundIn(db, 'run_groups', 'grouped')
    this.#found = {
      group: [foundIn(db, 'runs INDEXED BY runs_of_group', 'grouped'), joined],
      tag: [foundIn(db, 'run_tags', 'tag')],
    }
  }

  /** Only the name itself if a run has it; otherwise existing names, first those from its first character on. */
  near({ of, name }: RunNamesRequest): string[] {
    const found = this.#found[of]
    if (found.some(({ has }) => has.get(name) !== undefined)) return [name]
    const names = new Set<string>()
    for (const from of [name.slice(0, 1), ''])
      for (const { from: names_from } of found) for (const one of names_from.all(from)) names.add(one)
    return [...names]
  }
}

interface Found {
  readonly has: Statement<number>
  readonly from: Statement<string>
}

const foundIn = (db: Connection, table: string, column: string): Found => ({
  has: db.prepare(`SELECT 1 FROM ${table} WHERE ${column} = ? LIMIT 1`).pluck() as Statement<number>,
  from: db
    .prepare(
      `WITH RECURSIVE found (name) AS (
         SELECT (SELECT min(${column}) FROM ${table} WHERE ${column} >= ?)
         UNION ALL SELECT (SELECT min(${column}) FROM ${table} WHERE ${column} > found.name) FROM found WHERE found.name IS NOT NULL
       ) SELECT name FROM found WHERE name IS NOT NULL LIMIT ${CANDIDATES_MAX}`,
    )
    .pluck() as Statement<string>,
})
