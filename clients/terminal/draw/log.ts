import { type Level, logText } from '../state/log-text.ts'
import { cursorIn, logRows, type Shown } from '../view.ts'
import { clock } from './figures.ts'
import { windowOf } from './flows.ts'
import { DIM, gap, type Line, left, PLAIN, RED, reversed, row, rule, type Style, span, YELLOW } from './line.ts'

const SOURCE_LEAST = 16
const SOURCE_MOST = 28
const LEVEL = 5

const LEVEL_STYLES: Readonly<Record<Level, Style>> = { debug: DIM, info: DIM, warn: YELLOW, error: RED }

/** The newest lines, or those round the cursor. */
export function logList(shown: Shown, width: number, height: number): Line[] {
  const { engine, view } = shown
  const rows = logRows(engine)
  const at = cursorIn(rows, 'log', view)
  const isIn = view.part === 'log'
  const follows = view.cursor.log === undefined
  const { first, last } = windowOf(follows ? rows.length - 1 : at, rows.length, height)
  const shownRows = rows.slice(first, last)
  const events = shownRows.map(({ at: index }) => engine.log[index]!)
  const texts = events.map(logText)
  // By the width alone: the texts keep their place whoever writes.
  const name = Math.max(SOURCE_LEAST, Math.min(SOURCE_MOST, Math.floor(width / 5)))
  const state = follows ? 'follows' : 'l follows again'
  return [
    rule(width, 'log', width >= 110 ? `all flows, ${state}` : state),
    ...texts.map(({ level, source, text }, index) => {
      const time = clock(Date.parse(events[index]!.ts))
      const start = [gap(1), span(time, DIM), gap(1), left(level, LEVEL, LEVEL_STYLES[level]), gap(1)]
      const line = row(width, [...start, left(source, name, PLAIN), gap(2), span(text)])
      return isIn && first + index === at ? reversed(line) : line
    }),
  ]
}
