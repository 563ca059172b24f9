import type { NormalDocument } from '../../../protocol/nouns/flow-document.ts'
import type { Blobs } from '../catalog/blobs.ts'
import type { Connection, Statement } from '../file/database.ts'
import { isSqlite } from '../file/faults.ts'
import type { WatchedFiles } from '../file/watched-files.ts'
import { type Entry, flowEntries, kept, recordEntry } from './entries.ts'
import { indexInode, isDamage, openIndex, removeIndex } from './search-file.ts'

export interface SearchIndexParts {
  readonly db: Connection
  readonly data_dir: string
  readonly blobs: Blobs
  readonly steady_us: () => number
  readonly files: Pick<WatchedFiles, 'assertThere'>
  log(text: string): void
}

/** An object of the database that has entries. A flow is named by the number of its row, which a rename keeps. */
interface Owner {
  readonly kind: string
  readonly id: string
}

interface Change extends Owner {
  readonly seq: number
}

interface EntryRow extends Entry {
  readonly id: number
}

interface RunRow {
  readonly id: string
  readonly note: string
  readonly flow: string | null
  /** As a JSON list. */
  readonly tags: string
}

/** Time of one round between two commits. */
const STEP_MS = 10
/** Changes that are read together: of several changes of one object only the last counts. */
const CHANGES = 64
/** Changes are removed from the database when this many were read. */
const READ_CHANGES = 512
const TRY_AGAIN_US = 5_000_000

/**
 * Keeps the search index up to date, on the store thread. Triggers note the changed objects; they are read into the index in short rounds between
 * commits, each one transaction of the index. The index stores up to which change it was read. A file that is gone, damaged, from another release or
 * ahead of the database is made again.
 *
 *   opening -> making all (a new file) -> following --damage, or the file is gone--> opening
 */
export class SearchIndex {
  readonly #parts: SearchIndexParts
  readonly #next: Statement<Change>
  readonly #changes: Statement<Change>
  readonly #runRow: Statement<RunRow>
  readonly #last: Statement<{ seq: number | null }>
  #index: Writer | null = null
  #inode = 0
  /** The present work, one entry at a time. */
  #work: Generator<void> | null = null
  #down_until_us = 0
  #unread = 0

  constructor(parts: SearchIndexParts) {
    this.#parts = parts
    this.#next = parts.db.prepare('SELECT seq, kind, id FROM search_changes WHERE seq > ? ORDER BY seq LIMIT 1')
    this.#changes = parts.db.prepare(
      `SELECT max(seq) AS seq, kind, id FROM (SELECT * FROM search_changes WHERE seq > ? ORDER BY seq LIMIT ${CHANGES})
       GROUP BY kind, id ORDER BY 1`,
    )
    this.#runRow = parts.db.prepare(
      `SELECT r.id, r.note, (SELECT f.name FROM flows f WHERE f.id = r.flow) AS flow,
         (SELECT json_group_array(t.tag ORDER BY t.position) FROM run_tags t WHERE t.run = r.seq) AS tags
       FROM runs r WHERE r.seq = ?`,
    )
    this.#last = parts.db.prepare("SELECT seq FROM sqlite_sequence WHERE name = 'search_changes'")
  }

  /** One round; true when there is more to do. It never throws, so that a fault of the search does not stop the store. */
  step(): boolean {
    const now = this.#parts.steady_us()
    if (now < this.#down_until_us) return false
    try {
      return this.#round()
    } catch (error) {
      this.#close()
      if (isDamage(error) && this.#isOurs()) {
        this.#parts.log('search.db is damaged and is made again.')
        removeIndex(this.#parts.data_dir)
        return true
      }
      this.#down_until_us = now + TRY_AGAIN_US
      this.#parts.log(`search.db cannot be written: ${error instanceof Error ? error.message : String(error)}`)
      return false
    }
  }

  /** Up to which change the database may remove them; null when they are too few for a commit. */
  get readUpTo(): number | null {
    return this.#unread >= READ_CHANGES ? (this.#index?.cursor ?? null) : null
  }

  /** Removes read changes. Call it inside a transaction of the database. */
  removeRead(): void {
    this.#parts.db.prepare('DELETE FROM search_changes WHERE seq <= ?').run(this.readUpTo ?? 0)
    this.#unread = 0
  }

  close(): void {
    this.#close()
  }

  #close(): void {
    this.#work = null
    this.#index?.close()
    this.#index = null
  }

  #round(): boolean {
    const index = this.#opened()
    if (index === null) return false
    if (this.#work === null) {
      const next = this.#next.get(index.cursor)
      if (next === undefined) return false
      this.#work = this.#follow(index)
    }
    const until_ms = performance.now() + STEP_MS
    const work = this.#work
    let done = false
    index.transaction(() => {
      while (!done && performance.now() < until_ms) done = work.next().done === true
    })
    if (done) this.#work = null
    return !done
  }

  /** Whether the folder still belongs to this installation; nothing is made in the folder of another one. */
  #isOurs(): boolean {
    try {
      this.#parts.files.assertThere()
      return true
    } catch {
      return false
    }
  }

  #opened(): Writer | null {
    const { data_dir } = this.#parts
    if (this.#index !== null && indexInode(data_dir) === this.#inode) return this.#index
    this.#close()
    if (!this.#isOurs()) return null
    let opened = openIndex(data_dir)
    const last = this.#last.get()?.seq ?? 0
    // The database is older than the index, for example restored from a backup.
    if (!opened.isNew && new Writer(opened.db).cursor > last) {
      opened.db.close()
      removeIndex(data_dir)
      opened = openIndex(data_dir)
    }
    const index = new Writer(opened.db)
    this.#index = index
    this.#inode = indexInode(data_dir)
    if (!index.isComplete) this.#work = this.#all(index, last)
    return index
  }

  /** Reads everything; later changes follow. */
  *#all(index: Writer, cursor: number): Generator<void> {
    const { db } = this.#parts
    index.setState('cursor', cursor)
    yield
    for (const owner of db.prepare(OWNERS).all() as Owner[]) yield* this.#update(index, owner)
    index.setState('complete', 1)
  }

  *#follow(index: Writer): Generator<void> {
    for (;;) {
      const changes = this.#changes.all(index.cursor)
      if (changes.length === 0) return
      for (const change of changes) yield* this.#update(index, change)
      const before = index.cursor
      index.setState('cursor', changes.at(-1)!.seq)
      this.#unread += index.cursor - before
    }
  }

  /** Unchanged entries are not written. */
  *#update(index: Writer, owner: Owner): Generator<void> {
    const key = `${owner.kind} ${owner.id}`
    const old = new Map(index.of(key).map(row => [`${row.kind} ${row.name}`, row]))
    for (const entry of this.#readable(owner)) {
      const name = `${entry.kind} ${entry.name}`
      const before = old.get(name)
      old.delete(name)
      if (before !== undefined && before.text === entry.text && before.flow === entry.flow) continue
      if (before !== undefined) index.remove(before)
      index.add(key, entry)
      yield
    }
    for (const row of old.values()) {
      index.remove(row)
      yield
    }
  }

  /** The entries of an object; none when it is damaged, so that the others are read. */
  #readable(owner: Owner): Iterable<Entry> {
    try {
      return [...this.#entries(owner)]
    } catch (error) {
      if (isSqlite(error)) throw error
      return []
    }
  }

  #entries({ kind, id }: Owner): Iterable<Entry> {
    const { db, blobs } = this.#parts
    switch (kind) {
      case 'flow': {
        const row = db.prepare('SELECT name, document FROM flows WHERE id = ? AND deleted = 0').get(Number(id)) as
          | { name: string; document: string }
          | undefined
        if (row === undefined) return []
        return flowEntries(row.name, JSON.parse(blobs.text(row.document)) as NormalDocument)
      }
      case 'user': {
        const row = db.prepare('SELECT name, display_name FROM users WHERE name = ?').get(id) as
          | { name: string; display_name: string | null }
          | undefined
        return row === undefined ? [] : [{ kind, name: row.name, flow: null, text: kept(row.display_name ?? '') }]
      }
      case 'run':
        return this.#run(Number(id))
      case 'dashboard':
      case 'panel':
      case 'secret': {
        const body = db.prepare('SELECT body FROM records WHERE kind = ? AND id = ?').pluck().get(kind, id) as
          | string
          | undefined
        const entry = body === undefined ? null : recordEntry(kind, id, body)
        return entry === null ? [] : [entry]
      }
      default:
        return []
    }
  }

  /** A run without tags and note has no entry, because ids are looked up in the database. */
  #run(seq: number): Entry[] {
    const row = this.#runRow.get(seq)
    if (row === undefined) return []
    const tags = JSON.parse(row.tags) as string[]
    if (tags.length === 0 && row.note === '') return []
    return [{ kind: 'run', name: row.id, flow: row.flow, text: kept([...tags, row.note].join('\n')) }]
  }
}

const OWNERS = `
SELECT 'flow' AS kind, CAST(id AS TEXT) AS id FROM flows WHERE deleted = 0
UNION ALL SELECT 'user', name FROM users
UNION ALL SELECT kind, id FROM records WHERE kind IN ('secret', 'panel', 'dashboard')
UNION ALL SELECT 'run', CAST(run AS TEXT) FROM (SELECT DISTINCT run FROM run_tags)
UNION ALL SELECT 'run', CAST(seq AS TEXT) FROM runs WHERE note <> '' AND seq NOT IN (SELECT run FROM run_tags)`

/** The statements of the index. */
class Writer {
  cursor: number
  isComplete: boolean
  readonly #db: Connection
  readonly #of: Statement<EntryRow>
  readonly #add: Statement
  readonly #addWords: Statement
  readonly #remove: Statement
  readonly #removeWords: Statement
  readonly #state: Statement

  constructor(db: Connection) {
    this.#db = db
    this.#of = db.prepare('SELECT id, kind, name, flow, text FROM entries WHERE owner = ?')
    this.#add = db.prepare('INSERT INTO entries (owner, kind, name, flow, text) VALUES (?, ?, ?, ?, ?)')
    this.#addWords = db.prepare('INSERT INTO words (rowid, name, text) VALUES (?, ?, ?)')
    this.#remove = db.prepare('DELETE FROM entries WHERE id = ?')
    this.#removeWords = db.prepare("INSERT INTO words (words, rowid, name, text) VALUES ('delete', ?, ?, ?)")
    this.#state = db.prepare('INSERT INTO state VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value')
    const state = db.prepare('SELECT value FROM state WHERE name = ?').pluck()
    this.cursor = (state.get('cursor') as number | undefined) ?? 0
    this.isComplete = state.get('complete') === 1
  }

  transaction(work: () => void): void {
    this.#db.transaction(work)()
  }

  setState(name: 'cursor' | 'complete', value: number): void {
    this.#state.run(name, value)
    if (name === 'cursor') this.cursor = value
    else this.isComplete = value === 1
  }

  of(owner: string): EntryRow[] {
    return this.#of.all(owner)
  }

  add(owner: string, { kind, name, flow, text }: Entry): void {
    const { lastInsertRowid } = this.#add.run(owner, kind, name, flow, text)
    this.#addWords.run(lastInsertRowid, name, text)
  }

  remove({ id, name, text }: EntryRow): void {
    this.#removeWords.run(id, name, text)
    this.#remove.run(id)
  }

  close(): void {
    this.#db.close()
  }
}
