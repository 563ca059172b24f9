import { limits } from '../../../protocol/limits.ts'
import type { Connection, Statement } from '../file/database.ts'
import type { GivenInputs, RunDocument } from '../front/runs.ts'

/**
 * Long values of runs, beside their rows: JSON in pieces of UTF-8, so that a reader holds one piece and never a value. A column of
 * `runs` whose value is stored here has `ELSEWHERE`; an output of a node has `document` (`RowOutput`).
 */
export const ELSEWHERE = ''

export type RunPart = 'inputs' | 'resolved' | 'result'
/** What a run was given whose record is masked: it executes on that, and retries take it over. */
export const givenPart = (part: keyof GivenInputs): string => `given:${part}`
/** Node ids and ports have no colon. */
export const outputPart = (node: string, port: string): string => `outputs:${node}:${port}`

/** Whether the text is too long for a row. */
export const isLong = (json: string): boolean => json.length > limits.RUN_DOCUMENT_CHARACTERS

/** Inside the caller's transaction. */
export class DocumentWriter {
  readonly #put: Statement
  readonly #drop: Statement

  constructor(db: Connection) {
    this.#put = db.prepare('INSERT INTO run_documents (run, part, piece, json) VALUES (?, ?, ?, ?)')
    this.#drop = db.prepare('DELETE FROM run_documents WHERE run = ? AND part = ?')
  }

  /** Writes a value, in place of an earlier one. */
  write(run: number, part: string, json: string): void {
    this.#drop.run(run, part)
    const bytes = Buffer.from(json)
    for (let piece = 0, at = 0; at < bytes.length; piece++, at += limits.RUN_DOCUMENT_PIECE_BYTES)
      this.#put.run(run, part, piece, bytes.subarray(at, at + limits.RUN_DOCUMENT_PIECE_BYTES))
  }

  /** Pieces of one value follow each other. */
  writeAll(run: number, documents: readonly RunDocument[]): void {
    for (let at = 0; at < documents.length; ) {
      const { part } = documents[at]!
      let json = ''
      for (; at < documents.length && documents[at]!.part === part; at++) json += documents[at]!.json
      this.write(run, part, json)
    }
  }
}

/** Prepares its statements at the first use, since a file of an older release has no such table. */
export class DocumentReader {
  readonly #db: Connection
  #one: Statement<Buffer> | null = null
  #all: Statement<Buffer> | null = null

  constructor(db: Connection) {
    this.#db = db
  }

  /** The pieces in order, each read when it is requested, so that other reads may come in between. */
  *pieces(run: number, part: string): Generator<Buffer, void, undefined> {
    this.#one ??= this.#prepared('AND piece = ?')
    for (let piece = 0; ; piece++) {
      const json = this.#one.get(run, part, piece)
      if (json === undefined) return
      yield json
    }
  }

  text(run: number, part: string): string {
    this.#all ??= this.#prepared('ORDER BY piece')
    return Buffer.concat(this.#all.all(run, part)).toString()
  }

  #prepared(which: string): Statement<Buffer> {
    const sql = `SELECT json FROM run_documents WHERE run = ? AND part = ? ${which}`
    return this.#db.prepare(sql).pluck() as Statement<Buffer>
  }
}
