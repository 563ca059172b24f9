import type { Connection, Statement } from '../file/database.ts'
import { readable, readableTables } from '../file/unreadable.ts'
import type { Registration } from '../front/requests.ts'
import { KEPT_BYTES, Series } from '../history/series.ts'

interface MessageRow {
  id: number
  name: string
  dtype: string
  version: number | null
  ts: number
  kind: number
  number: number
  bytes: Buffer | null
  log: number
  forgotten: number
  bins: Buffer | null
}

/**
 * The meaning of the engine-wide indexes of this start: message index -> series, flow index -> row, node index -> name. Rows are
 * made inside a commit when an index first carries something; `reload()` brings memory back to what is stored after a
 * commit that failed.
 */
export class Registry {
  readonly #db: Connection
  readonly #messages: ([name: string, dtype: string] | undefined)[] = []
  readonly #flows: (string | undefined)[] = []
  readonly #nodes: (string | undefined)[] = []
  readonly #byIndex: (Series | undefined)[] = []
  readonly #flowIds: (number | undefined)[] = []
  readonly #fresh: number[] = []
  readonly #byName = new Map<string, Series>()
  readonly #byId = new Map<number, Series>()
  readonly #insert: Statement
  readonly #setDtype: Statement
  readonly #flowId: Statement<{ id: number }>

  constructor(db: Connection) {
    this.#db = db
    this.#insert = db.prepare('INSERT INTO messages (name, dtype) VALUES (?, ?)')
    this.#setDtype = db.prepare('UPDATE messages SET dtype = ? WHERE id = ?')
    this.#flowId = db.prepare('SELECT id FROM flows WHERE name = ?')
  }

  register({ messages, flows, nodes }: Registration): void {
    for (const [index, name, dtype] of messages) {
      this.#messages[index] = [name, dtype]
      const series = this.#byName.get(name)
      this.#byIndex[index] = series?.dtype === dtype ? series : undefined
      if (this.#byIndex[index] === undefined) this.#fresh.push(index)
    }
    for (const [index, name] of flows) {
      this.#flows[index] = name
      this.#flowIds[index] = undefined
    }
    for (const [index, qualified] of nodes) this.#nodes[index] = qualified
  }

  /** Whether there are registered messages without a row. */
  hasFresh(): boolean {
    return this.#fresh.length > 0
  }

  /** Makes rows for registered messages, so that they can be read before they have a point. Inside a transaction; call `settled` after its commit. */
  settle(): void {
    for (const index of this.#fresh) this.series(index)
  }

  settled(): void {
    this.#fresh.length = 0
  }

  knowsMessage(index: number): boolean {
    return this.#messages[index] !== undefined
  }

  knowsFlow(index: number): boolean {
    return this.#flows[index] !== undefined
  }

  knowsNode(index: number): boolean {
    return this.#nodes[index] !== undefined
  }

  nodeName(index: number): string {
    return this.#nodes[index]!
  }

  flowName(index: number): string {
    return this.#flows[index]!
  }

  /** Inside a transaction. */
  series(index: number): Series {
    return this.#byIndex[index] ?? this.#resolve(index)
  }

  /** The row of a flow; 0 when it is gone. Inside a transaction. */
  flowId(index: number): number {
    const known = this.#flowIds[index]
    if (known !== undefined) return known
    const id = this.#flowId.get(this.#flows[index]!)?.id ?? 0
    if (id > 0) this.#flowIds[index] = id
    return id
  }

  byId(id: number): Series | undefined {
    return this.#byId.get(id)
  }

  all(): IterableIterator<Series> {
    return this.#byId.values()
  }

  /** Loads what is stored, without large payloads. Open bins and newest values do not have the points of the log yet. */
  reload(): void {
    this.#byName.clear()
    this.#byId.clear()
    this.#byIndex.fill(undefined)
    this.#flowIds.fill(undefined)
    const rows = readableTables(
      this.#db,
      ['latest', 'messages'],
      () =>
        this.#db
          .prepare(
            `SELECT id, name, dtype, version, ts, kind, number, CASE WHEN length(bytes) <= ${KEPT_BYTES} THEN bytes END AS bytes, log, forgotten, bins
         FROM messages LEFT JOIN latest ON message = id`,
          )
          .all() as MessageRow[],
    )
    for (const row of rows) {
      const series = new Series(row.id, row.name, row.dtype)
      this.#add(series)
      if (row.version === null) continue
      Object.assign(series.last, {
        version: row.version,
        ts: row.ts,
        kind: row.kind,
        number: row.number,
        bytes: row.bytes,
      })
      series.log = row.log
      series.forgotten = row.forgotten
      const { bins } = row
      if (bins) readable('latest', { message: row.id }, () => series.loadBins(bins))
    }
  }

  /** After the commit that renamed the rows. */
  renamed(from: string, to: string): void {
    for (const series of [...this.ofFlow(to)]) this.#byName.delete(series.name)
    for (const series of [...this.ofFlow(from)]) {
      this.#byName.delete(series.name)
      series.name = `${to}${series.name.slice(from.length)}`
      this.#byName.set(series.name, series)
    }
    this.#flows.forEach((name, index) => {
      if (name === from) this.#flows[index] = to
    })
    this.#flowIds.fill(undefined)
    this.#messages.forEach((message, index) => {
      if (message?.[0].startsWith(`${from}.`))
        this.#messages[index] = [`${to}${message[0].slice(from.length)}`, message[1]]
    })
    this.#nodes.forEach((name, index) => {
      if (name?.startsWith(`${from}.`)) this.#nodes[index] = `${to}${name.slice(from.length)}`
    })
  }

  find(name: string): Series | undefined {
    return this.#byName.get(name)
  }

  *ofFlow(flow: string): Iterable<Series> {
    for (const series of this.#byName.values()) if (series.name.startsWith(`${flow}.`)) yield series
  }

  #resolve(index: number): Series {
    const [name, dtype] = this.#messages[index]!
    let series = this.#byName.get(name)
    if (!series) {
      series = new Series(Number(this.#insert.run(name, dtype).lastInsertRowid), name, dtype)
      this.#add(series)
    } else if (series.dtype !== dtype) {
      this.#setDtype.run(dtype, series.id)
      series.dtype = dtype
    }
    this.#byIndex[index] = series
    return series
  }

  #add(series: Series): void {
    this.#byName.set(series.name, series)
    this.#byId.set(series.id, series)
  }
}
