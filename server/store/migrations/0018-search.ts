/**
 * What changed of the things that can be searched for, in the order of the changes: `server/store/search` reads it into an index of its own,
 * and removes what it has read. Runs are told of when they have a tag or a note.
 */
const changes = (
  table: string,
  kind: string,
  id: string,
  events: readonly [when: string, row: 'NEW' | 'OLD', only?: string][],
): string =>
  events
    .map(
      ([when, row, only], at) => `
CREATE TRIGGER search_${table}_${at} AFTER ${when} ON ${table} ${only === undefined ? '' : `WHEN ${only} `}BEGIN
  INSERT INTO search_changes (kind, id) VALUES (${kind.replace('ROW', row)}, ${row}.${id});
END;`,
    )
    .join('\n')

const RECORDS = "IN ('secret', 'panel', 'dashboard')"

export const search = {
  number: 18,
  name: 'search',
  sql: `
CREATE TABLE search_changes (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  kind TEXT NOT NULL,
  id TEXT NOT NULL
) STRICT;
${changes('flows', "'flow'", 'id', [
  ['INSERT', 'NEW'],
  ['UPDATE OF name, document, deleted', 'NEW'],
  ['DELETE', 'OLD'],
])}
${changes('users', "'user'", 'name', [
  ['INSERT', 'NEW'],
  ['UPDATE OF name, display_name', 'NEW'],
  ['DELETE', 'OLD'],
])}
${changes('records', 'ROW.kind', 'id', [
  ['INSERT', 'NEW', `NEW.kind ${RECORDS}`],
  ['UPDATE', 'NEW', `NEW.kind ${RECORDS}`],
  ['DELETE', 'OLD', `OLD.kind ${RECORDS}`],
])}
${changes('run_tags', "'run'", 'run', [
  ['INSERT', 'NEW'],
  ['DELETE', 'OLD'],
])}
${changes('runs', "'run'", 'seq', [
  ['INSERT', 'NEW', "NEW.note <> ''"],
  ['UPDATE OF note', 'NEW'],
  ['DELETE', 'OLD', "OLD.note <> ''"],
])}
`,
} as const
