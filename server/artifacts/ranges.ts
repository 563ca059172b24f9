import { limits } from '../../protocol/limits.ts'
import type { FileRange } from './file-chunks.ts'

const RANGES = /^bytes=(.*)$/i
const ONE = /^(\d*)-(\d*)$/

/**
 * What a Range header asks of so many bytes (RFC 9110, section 14): the ranges in the order asked for, those that overlap or touch
 * joined; null for the whole, which is also the answer to what is no range of bytes; `outside` when none of them lies within, or
 * when they are more than `limits.ARTIFACT_RANGES`.
 */
export function rangesOf(header: string | undefined, size: number): FileRange[] | null | 'outside' {
  const list = header === undefined ? null : RANGES.exec(header.trim())?.[1]
  if (list === undefined || list === null) return null
  const texts = list
    .split(',')
    .map(text => text.trim())
    .filter(text => text !== '')
  if (texts.length === 0) return null
  if (texts.length > limits.ARTIFACT_RANGES) return 'outside'
  const ranges: FileRange[] = []
  for (const text of texts) {
    const range = rangeOf(text, size)
    if (range === null) return null
    if (range.from < range.to) ranges.push(range)
  }
  return ranges.length === 0 ? 'outside' : joined(ranges)
}

/** Empty (`from` at or behind `to`) when it lies outside; null when it is no range. */
function rangeOf(text: string, size: number): FileRange | null {
  const [, first = '', last = ''] = ONE.exec(text) ?? []
  if (first === '') return last === '' ? null : { from: Math.max(0, size - Number(last)), to: size }
  const from = Number(first)
  if (last !== '' && Number(last) < from) return null
  return { from, to: last === '' ? size : Math.min(size, Number(last) + 1) }
}

/** Ranges that overlap or touch are one, at the place of the first of them: no byte is sent twice. */
function joined(ranges: readonly FileRange[]): FileRange[] {
  let kept: FileRange[] = []
  for (let range of ranges) {
    const meets = (other: FileRange): boolean => other.from <= range.to && range.from <= other.to
    const at = kept.findIndex(meets)
    if (at < 0) {
      kept.push(range)
      continue
    }
    // Grown by one, it may meet others that it did not touch before.
    for (let met = kept.filter(meets); met.length > 0; met = kept.filter(meets)) {
      range = {
        from: Math.min(range.from, ...met.map(({ from }) => from)),
        to: Math.max(range.to, ...met.map(({ to }) => to)),
      }
      kept = kept.filter(other => !met.includes(other))
    }
    kept.splice(at, 0, range)
  }
  return kept
}
