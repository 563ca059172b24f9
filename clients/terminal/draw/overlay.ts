import type { Overlay } from '../view.ts'
import { blank, gap, type Line, row, rule, span, wrapped } from './line.ts'

/** Covers all but the first two lines. */
export function overlayLines({ title, lines, top }: Overlay, width: number, height: number): Line[] {
  const all = lines.flatMap(line => (line === '' ? [''] : wrapped(line, Math.max(8, width - 4), 40)))
  const room = Math.max(1, height - 1)
  const first = Math.max(0, Math.min(top, all.length - room))
  const shown = all.slice(first, first + room)
  const end = all.length > room ? `${first + 1}–${first + shown.length} of ${all.length}, Esc closes` : 'Esc closes'
  const drawn = [rule(width, title, end), ...shown.map(text => row(width, [gap(2), span(text)]))]
  while (drawn.length < height) drawn.push(blank(width))
  return drawn.slice(0, height)
}
