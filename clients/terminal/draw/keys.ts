import type { View } from '../view.ts'
import { DIM, gap, type Line, row, type Span, span, YELLOW } from './line.ts'

/** What stands at the bottom, the more useful first: what has no room is left out. */
const HINTS: readonly [key: string, does: string][] = [
  ['↑↓', 'move'],
  ['⏎', 'open'],
  ['/', 'filter'],
  ['s', 'sort'],
  ['p', 'pause'],
  ['r', 'runs'],
  ['i', 'issues'],
  ['l', 'log'],
  ['tab', 'next part'],
  ['?', 'keys'],
  ['q', 'leave'],
]
const ONLY_WIDE = new Set(['r', 'i', 'l'])

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
  if (overlay !== null)
    return row(width, [
      gap(1),
      ...hints(
        [
          ['↑↓', 'move'],
          ['Esc', 'close'],
          ['q', 'leave'],
        ],
        '   ',
      ),
    ])
  const isWide = width >= 110
  const wanted = HINTS.filter(([key]) => isWide || !ONLY_WIDE.has(key))
  return row(width, [gap(1), ...hints(wanted, isWide ? '   ' : '  ')])
}

const hints = (all: readonly (readonly [string, string])[], between: string): Span[] =>
  all.flatMap(([key, does], at) => [span(at === 0 ? key : `${between}${key}`), span(` ${does}`, DIM)])
