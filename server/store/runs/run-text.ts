import { limits } from '../../../protocol/limits.ts'
import { readable, UnreadableRow } from '../file/unreadable.ts'
import { shownNodeWith, shownWith } from '../front/shown-run.ts'
import { type DocumentReader, ELSEWHERE, isLong, outputPart, type RunPart } from './documents.ts'
import type { ExportPage } from './export-page.ts'
import { headOf, type NodeRow, nodeHeadOf, type RunRow, rowOutputs } from './rows.ts'

/** Pages of JSON; the last one is returned. */
export type TextPages = Generator<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>, undefined>

/** JSON in pieces, in place of a value. */
class Pieces {
  readonly all: Iterable<string | Buffer>
  constructor(all: Iterable<string | Buffer>) {
    this.all = all
  }
}

/** A run as `GET /runs/{id}` answers it. Long values are copied from their pieces into pages without being parsed. */
export function* runText(row: RunRow, documents: DocumentReader, page: ExportPage, now_us: number): TextPages {
  const part = (name: RunPart): Pieces | null => {
    const json = row[name]
    if (json === null) return null
    if (json === ELSEWHERE) return new Pieces(stored(documents, row.seq, name))
    if (!isLong(json)) readable('runs', { seq: row.seq }, () => JSON.parse(json))
    return new Pieces(slicesOf(json))
  }
  const values = { inputs: part('inputs'), inputs_resolved: part('resolved'), result: part('result') }
  yield* written(shownWith(headOf(row), values, now_us), page)
  return page.take()
}

/** The nodes of a run as `GET /runs/{id}/nodes` answers them; each row is read when it is written. */
export function* nodesText(
  run: { seq: number; id: string; flow: string },
  nodes: readonly string[],
  rowOf: (node: string) => NodeRow | undefined,
  documents: DocumentReader,
  page: ExportPage,
): TextPages {
  page.add('{"items":[')
  let count = 0
  for (const node of nodes) {
    const row = rowOf(node)
    if (row === undefined) continue
    if (count++ > 0) page.add(',')
    const outputs = row.outputs === null ? null : new Pieces(outputsText(run, row, documents))
    const head = readable('run_nodes', { run: run.seq, node }, () => nodeHeadOf(row))
    yield* written(shownNodeWith(run.id, head, outputs), page)
    if (page.isFull) yield page.take()
  }
  page.add(`],"count":${count}}`)
  return page.take()
}

function* outputsText(
  { seq, flow }: { seq: number; flow: string },
  { node, outputs: text }: NodeRow,
  documents: DocumentReader,
): Generator<string | Buffer, void, undefined> {
  let before = '{'
  const outputs = readable('run_nodes', { run: seq, node }, () => rowOutputs(text)!)
  for (const output of outputs) {
    yield `${before}${JSON.stringify(`${flow}.${output.message}`)}:`
    before = ','
    if (output.document === undefined) yield* slicesOf(JSON.stringify(output.value))
    else {
      let pieces = 0
      for (const piece of documents.pieces(seq, outputPart(node, output.port))) {
        pieces++
        yield piece
      }
      if (pieces === 0) throw new UnreadableRow(missing('run_nodes', { run: seq, node }, `its output "${output.port}"`))
    }
  }
  yield outputs.length === 0 ? '{}' : '}'
}

function* stored(documents: DocumentReader, run: number, part: RunPart): Generator<Buffer, void, undefined> {
  let pieces = 0
  for (const piece of documents.pieces(run, part)) {
    pieces++
    yield piece
  }
  if (pieces === 0) throw new UnreadableRow(missing('runs', { seq: run }, `its value "${part}"`))
}

const missing = (table: string, row: Readonly<Record<string, string | number>>, what: string) => ({
  table,
  row,
  reason: `${what} is not in the table "run_documents"`,
})

function* written(object: Readonly<Record<string, unknown>>, page: ExportPage): Generator<Uint8Array<ArrayBuffer>> {
  let before = '{'
  for (const [key, value] of Object.entries(object)) {
    page.add(`${before}${JSON.stringify(key)}:`)
    before = ','
    if (!(value instanceof Pieces)) {
      page.add(JSON.stringify(value))
      continue
    }
    for (const piece of value.all) {
      if (typeof piece === 'string') page.add(piece)
      else page.addBytes(piece)
      if (page.isFull) yield page.take()
    }
  }
  page.add('}')
}

/** A long text in parts that do not split surrogate pairs. */
function* slicesOf(text: string): Generator<string, void, undefined> {
  for (let at = 0; at < text.length; ) {
    let end = Math.min(at + limits.RUN_DOCUMENT_PIECE_BYTES, text.length)
    if (end < text.length && (text.charCodeAt(end - 1) & 0xfc00) === 0xd800) end--
    yield text.slice(at, end)
    at = end
  }
}
