import { limits } from '../../../protocol/limits.ts'
import { cascadeId } from '../../../protocol/nouns/cascade-id.ts'
import type { NodeError } from '../../../protocol/nouns/node-error.ts'
import { formatTime } from '../../../protocol/time.ts'
import type { Codec } from '../../../protocol/values/codec.ts'
import type { Note } from '../../../threads/lane/messages.ts'
import type { Connection, Statement } from '../file/database.ts'
import { type DiskUse, ROW_BYTES } from '../file/disk-use.ts'
import { readable } from '../file/unreadable.ts'

/** A failed execution as a lane notes it. */
type ErrorNote = Extract<Note, { type: 'error' }>

interface ErrorRow {
  id: number
  node: string
  code: string
  message: string
  stack: string | null
  ts: number
  inputs: Buffer | null
  cascade: string | null
  acknowledged: number
}

/** The last errors of each node, at most a day old. */
export class NodeErrors {
  readonly #codec: Codec
  readonly #disk: DiskUse
  readonly #engine_epoch: () => number
  readonly #put: Statement
  readonly #excess: Statement<{ id: number }>
  readonly #dropExcess: Statement
  readonly #dropOld: Statement
  readonly #acknowledge: Statement

  constructor(db: Connection, disk: DiskUse, codec: Codec, engine_epoch: () => number) {
    this.#codec = codec
    this.#disk = disk
    this.#engine_epoch = engine_epoch
    this.#put = db.prepare(
      'INSERT INTO node_errors (node, code, message, stack, ts, inputs, cascade) VALUES (?, ?, ?, ?, ?, ?, ?)',
    )
    this.#excess = db.prepare('SELECT id FROM node_errors WHERE node = ? ORDER BY ts DESC, id DESC LIMIT -1 OFFSET ?')
    this.#dropExcess = db.prepare('DELETE FROM node_errors WHERE id = ?')
    this.#dropOld = db.prepare('DELETE FROM node_errors WHERE ts < ?')
    this.#acknowledge = db.prepare('UPDATE node_errors SET acknowledged = 1 WHERE node = ? AND acknowledged = 0')
  }

  write(note: ErrorNote): void {
    const cascade = note.cascade_seq > 0 ? cascadeId(this.#engine_epoch(), note.cascade_ts, note.cascade_seq) : null
    const inputs = note.inputs === undefined ? null : this.#codec.encodePlain(note.inputs)
    const message = String(note.message)
    this.#put.run(
      String(note.node),
      String(note.code),
      message,
      note.stack ?? null,
      Math.floor(note.ts),
      inputs,
      cascade,
    )
    const oldest = this.#excess.get(note.node, limits.FAILED_INPUTS_KEPT)
    if (oldest) this.#dropExcess.run(oldest.id)
    else this.#disk.add('events', ROW_BYTES + message.length + (note.stack?.length ?? 0) + (inputs?.length ?? 0))
  }

  dropOlderThan(ts: number): number {
    return this.#dropOld.run(ts).changes
  }

  /** Returns how many were not acknowledged before. */
  acknowledge(node: string): number {
    return this.#acknowledge.run(node).changes
  }
}

const COLUMNS = 'id, node, code, message, stack, ts, inputs, cascade, acknowledged'

const errorOf = (row: ErrorRow, codec: Codec): NodeError =>
  readable('node_errors', { id: row.id }, () => read(row, codec))

const read = (row: ErrorRow, codec: Codec): NodeError => ({
  node: row.node,
  code: row.code,
  message: row.message,
  stack: row.stack,
  ts: formatTime(row.ts),
  inputs: row.inputs === null ? null : codec.decodePlain(row.inputs),
  cascade: row.cascade,
  acknowledged: row.acknowledged === 1,
})

/** Newest first, none older than `since_us`. Ordered by time, since the store reads the lanes one after the other. */
export function readNodeErrors(db: Connection, codec: Codec, node: string, since_us: number): NodeError[] {
  const rows = db
    .prepare(`SELECT ${COLUMNS} FROM node_errors WHERE node = ? AND ts >= ? ORDER BY ts DESC, id DESC LIMIT ?`)
    .all(node, since_us, limits.FAILED_INPUTS_KEPT) as ErrorRow[]
  return rows.map(row => errorOf(row, codec))
}

/** The newest of each node. */
export function newestNodeErrors(db: Connection, codec: Codec, since_us: number): NodeError[] {
  const rows = db
    .prepare(
      `SELECT ${COLUMNS} FROM (
         SELECT *, row_number() OVER (PARTITION BY node ORDER BY ts DESC, id DESC) AS place FROM node_errors WHERE ts >= ?
       ) WHERE place = 1 ORDER BY node`,
    )
    .all(since_us) as ErrorRow[]
  return rows.map(row => errorOf(row, codec))
}
