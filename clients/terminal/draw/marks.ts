import type { Need } from '../state/order.ts'
import { DIM, PLAIN, RED, type Span, type Style, YELLOW } from './line.ts'

/** A shape first, colour second. */
const NEED_MARKS: Readonly<Record<Need, [string, Style]>> = {
  down: ['▼', RED],
  error: ['■', RED],
  fills: ['▲', YELLOW],
  normal: ['·', PLAIN],
  disabled: ['‖', DIM],
}
export const needMark = (need: Need): Span => ({ text: NEED_MARKS[need][0], style: NEED_MARKS[need][1] })

export const RUNS: Span = { text: '◐', style: { tone: 'cyan' } }
export const WAITS: Span = { text: '⧗', style: YELLOW }
export const DOWN: Span = needMark('down')
export const ERROR: Span = needMark('error')
export const ADVICE: Span = { text: '○', style: DIM }

/** For terminals without UTF-8, each shape by one character. */
const ASCII: Readonly<Record<string, string>> = {
  ...{ '▼': 'v', '■': 'x', '▲': '!', '⧗': 'w', '◐': '>', '○': 'i', '‖': '=', '·': '.', '›': '>' },
  ...{ '─': '-', '│': '|', '…': '~', '–': '-', '█': '#', '░': '-', '⏎': '<', '↑': '^', '↓': 'v' },
  ...{ '▏': '-', '▎': '-', '▍': '-', '▌': '#', '▋': '#', '▊': '#', '▉': '#' },
  ...{ '▁': '_', '▂': '.', '▃': '-', '▄': '=', '▅': '+', '▆': '*', '▇': '%' },
}

/** Of each character of a text one that every terminal has; others of which nothing is known are `?`. */
export const inAscii = (text: string): string => text.replace(/[^\x20-\x7e]/gu, character => ASCII[character] ?? '?')
