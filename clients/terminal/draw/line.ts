import { columns, fit, printable } from '../../cli/output/text.ts'

/** How text stands: colours come second, after a shape or a word. */
export interface Style {
  readonly tone?: 'red' | 'yellow' | 'cyan'
  readonly isDim?: boolean
  readonly isBold?: boolean
  /** Under the cursor. */
  readonly isReversed?: boolean
}

export interface Span {
  readonly text: string
  readonly style: Style
}

/** One row of the screen, as wide as it. */
export type Line = readonly Span[]

export const PLAIN: Style = {}
export const DIM: Style = { isDim: true }
export const BOLD: Style = { isBold: true }
export const RED: Style = { tone: 'red' }
export const YELLOW: Style = { tone: 'yellow' }

/** Text that may be anything, made harmless for a terminal. */
export const span = (text: string, style: Style = PLAIN): Span => ({ text: printable(text), style })

export const widthOf = (spans: readonly Span[]): number => spans.reduce((sum, { text }) => sum + columns(text), 0)

/** Exactly `width` columns: cut at its end with an ellipsis, or filled up. */
export function left(text: string, width: number, style: Style = PLAIN): Span {
  const cut = fit(printable(text), Math.max(0, width))
  return { text: cut + ' '.repeat(Math.max(0, width - columns(cut))), style }
}

export function right(text: string, width: number, style: Style = PLAIN): Span {
  const cut = fit(printable(text), Math.max(0, width))
  return { text: ' '.repeat(Math.max(0, width - columns(cut))) + cut, style }
}

export const gap = (width: number): Span => ({ text: ' '.repeat(Math.max(0, width)), style: PLAIN })

/** The spans that fit into `width`; the last of them is cut. */
export function cutTo(spans: readonly Span[], width: number): Span[] {
  const kept: Span[] = []
  let room = width
  for (const { text, style } of spans) {
    const wide = columns(text)
    if (wide <= room) kept.push({ text, style })
    else if (room > 0) kept.push({ text: fit(text, room), style })
    room -= wide
    if (room <= 0) break
  }
  return kept
}

/** A row with something at its left and its right end; what is on the right stays, if there is room for it at all. */
export function row(width: number, start: readonly Span[], end: readonly Span[] = []): Line {
  const taken = widthOf(end)
  const ends = taken > width ? [] : end
  const room = width - (taken > width ? 0 : taken)
  const kept = cutTo(start, room)
  return [...kept, gap(room - widthOf(kept)), ...ends]
}

/** One of several things on a row, with its weight: where there is no room for all, those that weigh least are left out. */
export interface Piece {
  readonly spans: readonly Span[]
  readonly weight: number
}

export function fitting(pieces: readonly Piece[], between: string, width: number): Span[] {
  const kept = new Set<Piece>()
  let room = width + between.length
  for (const piece of pieces.toSorted((a, b) => b.weight - a.weight)) {
    const wide = widthOf(piece.spans) + between.length
    if (piece.spans.length === 0 || wide > room) continue
    kept.add(piece)
    room -= wide
  }
  const shown = pieces.filter(piece => kept.has(piece))
  return shown.flatMap(({ spans }, at) => (at === 0 ? spans : [span(between), ...spans]))
}

/** `─ flows 12 ──────────── 1–7 ─` */
export function rule(width: number, title: string, end = '', style: Style = DIM): Line {
  const tail = end === '' ? '─' : ` ${printable(end)} ─`
  const head = fit(`─ ${printable(title)} `, Math.max(1, width - columns(tail)))
  const fill = '─'.repeat(Math.max(0, width - columns(head) - columns(tail)))
  return cutTo([{ text: `${head}${fill}${tail}`, style }], width)
}

export const blank = (width: number): Line => [gap(width)]

/** Two rows beside each other, with a line between them. */
export const beside = (start: Line, end: Line): Line => [...start, { text: '│', style: DIM }, ...end]

/** The row under the cursor. */
export const reversed = (line: Line): Line =>
  line.map(({ text, style }) => ({ text, style: { ...style, isReversed: true } }))

/** What words make of `width` columns, in at most `most` lines. */
export function wrapped(text: string, width: number, most: number): string[] {
  const lines: string[] = []
  let now = ''
  for (const word of printable(text).split(' ')) {
    const next = now === '' ? word : `${now} ${word}`
    if (columns(next) <= width || now === '') now = next
    else {
      lines.push(now)
      now = word
    }
  }
  lines.push(now)
  const cut = lines.slice(0, most)
  if (lines.length > most) cut[most - 1] = fit(`${cut[most - 1]} …`, width)
  return cut.map(line => fit(line, width))
}
