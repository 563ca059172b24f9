import { limits } from '../../protocol/limits.ts'
import { shortened } from './results.ts'

interface Table {
  readonly title: string
  readonly columns: readonly string[]
  readonly rows: readonly (readonly unknown[])[]
  /** What else there is to say; empty for nothing. */
  readonly note?: string
}

const CELL_SHOWN = 200
/** Title, columns and notes. */
const FRAME_BYTES = 2_048

/** Tab-separated rows under a line of columns: half as long as JSON. Without room for all rows the newest stay: they come last. */
export function tableOf({ title, columns, rows, note = '' }: Table): string {
  const lines = rows.map(row => row.map(cell).join('\t'))
  let left = limits.MCP_RESULT_BYTES - FRAME_BYTES
  let first = lines.length
  while (first > 0 && (left -= Buffer.byteLength(lines[first - 1]!) + 1) >= 0) first--
  const cut =
    first === 0 ? '' : `the first ${first} of ${lines.length} rows were cut: ask for a shorter range or wider bins`
  const notes = [note, cut].filter(text => text !== '').map(text => `[${text}]`)
  return [
    title,
    columns.join('\t'),
    ...lines.slice(first),
    ...(lines.length === 0 ? ['(no rows)'] : []),
    ...notes,
  ].join('\n')
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'number') return String(value)
  const shown = shortened(value, CELL_SHOWN)
  return (typeof shown === 'string' ? shown : JSON.stringify(shown)).replaceAll(/[\t\n\r]/g, ' ')
}
