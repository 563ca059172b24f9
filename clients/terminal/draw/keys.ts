import type { View } from '../view.ts'
import { DIM, fitting, gap, type Line, row, span, YELLOW } from './line.ts'

type Hint = readonly [key: string, does: string, weight: number]

/** What stands at the bottom, and how much it weighs where there is no room for all. */
const HINTS: readonly Hint[] = [
  ['↑↓', 'move', 7],
  ['⏎', 'open', 6],
  ['/', 'filter', 5],
  ['s', 'sort', 3],
  ['p', 'pause', 2],
  ['r', 'runs', 1],
  ['i', 'issues', 1],
  ['l', 'log', 1],
  ['tab', 'next part', 4],
  ['?', 'keys', 8],
  ['q', 'leave', 9],
]
const ONLY_WIDE = 1

export const KEYS: readonly string[] = [
  '↑ ↓ or k j    move the cursor; it stays on its flow, not on its row',
  'PgUp PgDn     move a page; Home and End go to the first and the last',
  '⏎             opens a flow; of all else it shows the whole text',
  'Esc           goes back, and clears the filter',
  '/             filters the flows by a part of their names',
  's             sorts by need, name, rate, queue, p99',
  'p             pauses the screen; the engine goes on',
  'f r i l       go to flows, runs, issues, log; l again follows the log',
  'tab           goes to the next part, shift-tab to the one before',
  'Ctrl-L        draws all of it again; Ctrl-Z puts it aside',
  'q             leaves; Ctrl-C too, and in "svc serve" it stops the engine',
  '',
  '▼ down  ■ error  ▲ fills  ⧗ waits  ◐ runs  ○ advice  ‖ disabled  · normal',
  'per s         executions of nodes a second, over the last five seconds',
  'p99 ms        of the executions of the last complete minute',
  'queue         what waits, as a share of the bound of the flow',
]

export function keyLine({ isFiltering, filter, overlay }: View, width: number): Line {
  if (isFiltering)
    return row(width, [span(' / ', YELLOW), span(filter), span('▏'), span('   ⏎ keeps it   Esc clears it', DIM)])
  const isWide = width >= 110
  const wanted = overlay !== null ? OVER_ALL : isWide ? HINTS : HINTS.filter(([, , weight]) => weight > ONLY_WIDE)
  const pieces = wanted.map(([key, does, weight]) => ({ weight, spans: [span(key), span(` ${does}`, DIM)] }))
  return row(width, [gap(1), ...fitting(pieces, isWide || overlay !== null ? '   ' : '  ', width - 1)])
}

const OVER_ALL: readonly Hint[] = [
  ['↑↓', 'move', 1],
  ['Esc', 'close', 3],
  ['q', 'leave', 2],
]
