import { documentDiff } from '../../../core/flow/document-diff.ts'
import { documentPieces } from '../../../core/flow/document-text.ts'
import { ServiceError } from '../../../protocol/errors.ts'
import type { FlowCommit, FlowCommitDetail } from '../../../protocol/nouns/flow.ts'
import type { NormalDocument } from '../../../protocol/nouns/flow-document.ts'
import type { List } from '../../../protocol/nouns/list.ts'
import { formatTime } from '../../../protocol/time.ts'
import { pageOf } from '../../list-page.ts'
import type { Connection, Statement } from '../file/database.ts'
import { readable } from '../file/unreadable.ts'
import type { StoredCommit } from '../front/replies.ts'
import type { FlowOrigin, PageQuery } from '../front/requests.ts'
import { parsed } from '../runs/rows.ts'
import type { Blobs } from './blobs.ts'

interface CommitRow {
  seq: number
  hash: string
  name: string
  version: number
  parent: string | null
  document: string | null
  origin: string | null
  author: string
  message: string
  at: number
  action: string
}

const COLUMNS = 'seq, hash, name, version, parent, document, origin, author, message, at, action'

const commitOf = (row: CommitRow): FlowCommit => ({
  commit: row.hash,
  parent: row.parent,
  flow: row.name,
  version: row.version,
  author: row.author,
  message: row.message,
  at: formatTime(row.at),
  action: row.action,
})

const originOf = ({ origin }: CommitRow): FlowOrigin | null => parsed(origin)

/** The commits of a flow, also those under its earlier names, and those of deleted flows. */
export class FlowReader {
  readonly #blobs: Blobs
  readonly #flow: Statement<{ id: number }>
  readonly #count: Statement<{ count: number }>
  readonly #page: Statement<CommitRow>
  readonly #get: Statement<CommitRow>

  constructor(db: Connection, blobs: Blobs) {
    this.#blobs = blobs
    this.#flow = db.prepare('SELECT id FROM flows WHERE name = ?')
    this.#count = db.prepare('SELECT count(*) AS count FROM commits WHERE flow = ?')
    this.#page = db.prepare(`SELECT ${COLUMNS} FROM commits WHERE flow = ? ORDER BY seq DESC LIMIT ? OFFSET ?`)
    this.#get = db.prepare(`SELECT ${COLUMNS} FROM commits WHERE hash = ? AND flow = ?`)
  }

  list(name: string, page: PageQuery): List<FlowCommit> {
    const flow = this.#id(name)
    const { count } = this.#count.get(flow)!
    const rows = Iterator.from(this.#page.iterate(flow, page.limit, page.offset))
    return pageOf(rows.map(commitOf), count, page.offset)
  }

  /** Its document in pieces, which the front puts together in slices. */
  stored(name: string, hash: string): StoredCommit {
    const row = this.#row(this.#id(name), name, hash)
    const document = this.#document(row.document)
    return { document: document && documentPieces(document), origin: originOf(row) }
  }

  /** As `GET /flows/{name}/history/{commit}` answers it: two documents of 8 MiB and their difference take up to 200 ms. */
  shown(name: string, hash: string): FlowCommitDetail {
    const flow = this.#id(name)
    const row = this.#row(flow, name, hash)
    const parent = row.parent === null ? undefined : this.#get.get(row.parent, flow)
    const document = this.#document(row.document)
    const diff = documentDiff(this.#document(parent?.document ?? null), document)
    return {
      ...commitOf(row),
      origin: originOf(row),
      document: document as FlowCommitDetail['document'],
      diff: diff as FlowCommitDetail['diff'],
    }
  }

  #row(flow: number, name: string, hash: string): CommitRow {
    const row = this.#get.get(hash, flow)
    if (!row) throw new ServiceError('commit_not_found', `The flow "${name}" has no commit ${hash}.`)
    return row
  }

  #id(name: string): number {
    const row = this.#flow.get(name)
    if (!row) throw new ServiceError('flow_not_found', `There is no flow "${name}".`)
    return row.id
  }

  #document(digest: string | null): NormalDocument | null {
    if (digest === null) return null
    if (!this.#blobs.has(digest))
      throw new ServiceError('database_damaged', `The document ${digest} of the commit is missing.`)
    return readable('blobs', { digest }, () => JSON.parse(this.#blobs.text(digest)) as NormalDocument)
  }
}
