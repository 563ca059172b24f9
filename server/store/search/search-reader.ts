import { limits } from '../../../protocol/limits.ts'
import type { Found, SearchKind, SearchResult } from '../../../protocol/nouns/search/found.ts'
import { type Connection, databaseFile, openReader, type Statement } from '../file/database.ts'
import { MARK_FROM, MARK_TO } from './entries.ts'
import { indexInode, inodeOf, isDamage, removeIndex, searchFile } from './search-file.ts'

interface Row {
  kind: SearchKind
  name: string
  flow: string | null
  snippet: string
}

const SNIPPET_WORDS = 16
const NOTHING: SearchResult = { found: [], more: false, complete: false }

/** An id of a run or a digest of an artifact, or the beginning of one. */
const ID = /^[0-9a-f][0-9a-f-]{3,35}$/
const DIGEST = /^(?:sha256:)?([0-9a-f]{4,64})$/

/** Searches the index, and the database for ids and digests. On the reader thread. */
export class SearchReader {
  readonly #db: Connection
  readonly #data_dir: string
  /** Inode of the database that this thread reads; another installation may be put in its place later. */
  readonly #database: number
  #index: Connection | null = null
  #inode = 0

  constructor(db: Connection, data_dir: string) {
    this.#db = db
    this.#data_dir = data_dir
    this.#database = inodeOf(databaseFile(data_dir))
  }

  search(text: string, limit: number): SearchResult {
    const named = this.#byId(text.trim().toLowerCase(), limit)
    const { found, more, complete } = this.#byWords(text, limit)
    const all = [...named, ...found.filter(one => !named.some(({ name }) => name === one.name))]
    return { found: all.slice(0, limit), more: more || all.length > limit, complete }
  }

  #byWords(text: string, limit: number): SearchResult {
    const match = matchOf(text)
    try {
      const index = this.#opened()
      if (index === null) return NOTHING
      const complete = index.prepare("SELECT value FROM state WHERE name = 'complete'").pluck().get() === 1
      if (match === null) return { found: [], more: false, complete }
      const rows = (index.prepare(SELECT) as Statement<Row>).all({ match, exact: text.trim(), most: limit + 1 })
      return { found: rows.slice(0, limit).map(foundOf), more: rows.length > limit, complete }
    } catch (error) {
      this.#close()
      // Remove the damaged file: the store thread notices that it is gone and makes it again. Other errors come from a file that is being replaced, or from a
      // disk fault that the store thread reports.
      if (isDamage(error) && inodeOf(databaseFile(this.#data_dir)) === this.#database) removeIndex(this.#data_dir)
      return NOTHING
    }
  }

  #byId(text: string, limit: number): Found[] {
    const found: Found[] = []
    const id = ID.test(text) ? text : null
    const [, digest] = DIGEST.exec(text) ?? []
    const own = (kind: SearchKind, name: string, flow: string | null, length: number): Found => ({
      kind,
      name,
      flow,
      snippet: [
        { text: name.slice(0, length), match: true },
        ...(name.length > length ? [{ text: name.slice(length), match: false }] : []),
      ],
    })
    if (id !== null)
      for (const row of this.#db.prepare(RUNS).all(id, `${id}~`, limit) as { id: string; flow: string | null }[])
        found.push(own('run', row.id, row.flow, id.length))
    if (digest !== undefined) {
      const from = `sha256:${digest}`
      for (const name of this.#db.prepare(ARTIFACTS).pluck().all(from, `${from}~`, limit) as string[])
        found.push(own('artifact', name, null, from.length))
    }
    return found.slice(0, limit)
  }

  /** The index; null while there is none. Opened again when the file was made again. */
  #opened(): Connection | null {
    const inode = indexInode(this.#data_dir)
    if (this.#index !== null && inode === this.#inode) return this.#index
    this.#close()
    if (inode === 0 || inodeOf(databaseFile(this.#data_dir)) !== this.#database) return null
    this.#index = openReader(searchFile(this.#data_dir))
    this.#inode = inode
    return this.#index
  }

  #close(): void {
    this.#index?.close()
    this.#index = null
  }

  close(): void {
    this.#close()
  }
}

/** A match in a name counts ten times as much as one in a text; an exact name comes first. */
const SELECT = `
SELECT e.kind, e.name, e.flow, snippet(words, -1, char(2), char(3), '…', ${SNIPPET_WORDS}) AS snippet
FROM words JOIN entries e ON e.id = words.rowid
WHERE words MATCH @match
ORDER BY e.name = @exact DESC, bm25(words, 10.0, 1.0), e.id
LIMIT @most`
const RUNS = `SELECT r.id, f.name AS flow FROM runs r LEFT JOIN flows f ON f.id = r.flow WHERE r.id >= ? AND r.id < ? LIMIT ?`
const ARTIFACTS = 'SELECT DISTINCT digest FROM run_artifacts WHERE digest >= ? AND digest < ? LIMIT ?'

/** A query for all words of the text, each as a prefix. Words are quoted, so that none is an operator of the query language. */
export function matchOf(text: string): string | null {
  const words = text
    .normalize('NFC')
    .split(/[\s\p{Z}\p{C}]+/u)
    .filter(word => /[\p{L}\p{N}_\p{Co}]/u.test(word))
    .slice(0, limits.SEARCH_WORDS)
  return words.length === 0 ? null : words.map(word => `"${word.replaceAll('"', '""')}"*`).join(' ')
}

function foundOf({ kind, name, flow, snippet }: Row): Found {
  const parts: Found['snippet'] = []
  for (const [at, piece] of snippet.split(MARK_FROM).entries()) {
    const [match, rest] = at === 0 ? ['', piece] : piece.split(MARK_TO)
    if (match !== '' && match !== undefined) parts.push({ text: match, match: true })
    if (rest !== undefined && rest !== '') parts.push({ text: rest, match: false })
  }
  return { kind, name, flow, snippet: parts }
}
