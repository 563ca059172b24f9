import type { HistoryBin, HistoryPoint, MessageHistory } from '../../../../protocol/nouns/message.ts'
import type { Line } from '../parts/chart/lines.ts'

const isBin = (item: HistoryBin | HistoryPoint): item is HistoryBin => 'count' in item
const numberOf = (value: unknown): number | null =>
  typeof value === 'number' ? value : typeof value === 'boolean' ? Number(value) : null

/** A message's history as a line: points as they were published, bins as their mean with a band from least to most. A bool is steps of 0 and 1. */
export function lineOf(name: string, { dtype, items }: Pick<MessageHistory, 'dtype' | 'items'>, color: number): Line {
  const xs = items.map(({ ts }) => Date.parse(ts) / 1000)
  const base = { name, color, xs, isStepped: dtype === 'bool' }
  if (!items.some(isBin)) return { ...base, ys: items.map(item => numberOf((item as HistoryPoint).value)) }
  const bins = items.filter(isBin)
  if (dtype === 'bool') return { ...base, ys: bins.map(({ last }) => numberOf(last)) }
  return {
    ...base,
    ys: bins.map(({ mean }) => mean),
    band: { least: bins.map(({ min }) => min), most: bins.map(({ max }) => max) },
  }
}
