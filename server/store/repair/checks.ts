import { createCodec } from '../../../protocol/values/codec.ts'
import { decodeCascades } from '../cascades/chunk.ts'
import { CascadeRows } from '../cascades/pending.ts'
import { Blobs, sha256 } from '../catalog/blobs.ts'
import type { Connection } from '../file/database.ts'
import { eachGroup } from '../history/log.ts'
import { PointBatch } from '../history/point-batch.ts'
import { PointDecoder } from '../history/point-chunk.ts'
import { Series } from '../history/series.ts'
import { DocumentReader, ELSEWHERE } from '../runs/documents.ts'
import { linesOf } from '../runs/log-reader.ts'
import { decodeChunk, pointsIn } from '../runs/metric-chunk.ts'
import { outputsOf } from '../runs/rows.ts'
import { beganAgain, faultOfRow } from '../waiting/check.ts'

// biome-ignore lint/suspicious/noExplicitAny: a row as SQLite gives it; each check names the columns that it looks at
type Row = any

const json = (text: string | null): void => {
  if (text !== null) JSON.parse(text)
}

function expect(is: boolean, what: string): void {
  if (!is) throw new RangeError(what)
}

/** Checks of a row that SQLite can read: the engine's own readers must decode it. Each check throws an error that says what is wrong. */
export function rowChecks(db: Connection): Readonly<Record<string, (row: Row) => void>> {
  const blobs = new Blobs(db)
  const codec = createCodec()
  const documents = new DocumentReader(db)
  const decoder = new PointDecoder()
  const batch = new PointBatch()
  let began_again: ReadonlySet<number> | null = null
  const document = (digest: string | null): void => {
    if (digest === null) return
    expect(blobs.has(digest), `its document ${digest} is not there`)
    JSON.parse(blobs.text(digest))
  }
  const points = (bytes: Buffer, at: number, end: number): number => {
    batch.clear()
    decoder.decode(bytes, at, end, batch)
    return batch.count
  }
  return {
    blobs: ({ digest }) => expect(sha256(blobs.bytes(digest)) === digest, 'its bytes have another digest'),
    flows: ({ deleted, document: digest, origin }) => {
      if (deleted === 0) document(digest)
      json(origin)
    },
    commits: ({ document: digest, origin }) => {
      document(digest)
      json(origin)
    },
    latest: ({ message, bins }) => {
      if (bins !== null) new Series(message, '', '').loadBins(bins)
    },
    states: ({ bytes }) => void codec.decodePlain(bytes),
    log: ({ bytes }) => eachGroup(bytes, (_series, at, end) => void points(bytes, at, end)),
    chunks: ({ bytes, count }) => {
      const found = points(bytes, 0, bytes.length)
      expect(found === count, `it holds ${found} points, and its row says ${count}`)
    },
    cascades: ({ bytes, count }) => {
      const rows = new CascadeRows(count)
      decodeCascades(bytes, rows)
      expect(rows.count === count, `it holds ${rows.count} records, and its row says ${count}`)
    },
    runs: row => {
      for (const text of [row.origin, row.terminal, row.error]) json(text)
      for (const part of ['inputs', 'resolved', 'result'] as const)
        json(row[part] === ELSEWHERE ? documents.text(row.seq, part) : row[part])
    },
    run_nodes: ({ run, node, asked, granted, error, parts, outputs }) => {
      for (const text of [asked, granted, error, parts]) json(text)
      outputsOf(run, node, outputs, documents)
    },
    metric_chunks: ({ bytes, count }) => {
      expect(pointsIn(bytes) === count, `it holds ${pointsIn(bytes)} points, and its row says ${count}`)
      decodeChunk(bytes, count)
    },
    run_log_chunks: ({ bytes, count }) => {
      linesOf(bytes, count)
    },
    waiting: row => {
      began_again ??= beganAgain(db)
      const fault = faultOfRow(row, began_again)
      if (fault !== null) throw new RangeError(fault)
    },
    events: ({ body }) => json(body),
    node_errors: ({ inputs }) => {
      if (inputs !== null) codec.decodePlain(inputs)
    },
  }
}
