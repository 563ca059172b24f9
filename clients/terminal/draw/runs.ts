import { shortRun, type Wait } from '../state/waits.ts'
import { cursorIn, type RunRow, runRows, type Shown } from '../view.ts'
import { age, bar, percent, waitTime } from './figures.ts'
import { rangeText, windowOf } from './flows.ts'
import { DIM, gap, type Line, left, reversed, right, row, rule, span, wrapped } from './line.ts'
import { RUNS, WAITS } from './marks.ts'

const NAME_LEAST = 8
const NAME_MOST = 14
const BAR = 24

const sinceOf = (time: string, { wall_ms }: Shown): number => wall_ms - Date.parse(time)

/** Runs and waits in one list, a row each. */
export function runList(shown: Shown, width: number, height: number): Line[] {
  const rows = runRows(shown.engine)
  const running = rows.filter(({ run }) => run !== null).length
  const at = cursorIn(rows, 'runs', shown.view)
  const isIn = shown.view.part === 'runs'
  const { first, last } = windowOf(isIn ? at : 0, rows.length, height)
  const names = rows.map(({ run, wait }) => (run ?? wait)!.flow.length)
  const name = Math.min(NAME_MOST, Math.max(NAME_LEAST, ...names))
  const waiting = rows.length - running
  return [
    rule(width, `runs ${running}, waiting ${waiting}`, rangeText({ first, last }, rows.length)),
    ...rows.slice(first, last).map((each, index) => {
      const line = each.run === null ? waitRow(shown, each.wait!, name, width) : runRow(shown, each, name, width)
      return isIn && first + index === at ? reversed(line) : line
    }),
  ]
}

function runRow(shown: Shown, { run }: RunRow, name: number, width: number): Line {
  const { flow, id, progress, doing, started_at, created_at } = run!
  const room = Math.max(0, Math.min(BAR, width - name - 48))
  const drawn = room < 8 ? [] : [{ text: bar(progress ?? 0, room), style: RUNS.style }, gap(2)]
  const start = [
    gap(1),
    RUNS,
    gap(1),
    left(flow, name),
    gap(2),
    span(shortRun(id)),
    gap(2),
    ...drawn,
    right(progress === null ? '' : percent(progress), 4),
    gap(2),
    span(doing),
  ]
  return row(width, start, [gap(2), span(age(sinceOf(started_at ?? created_at, shown)), DIM), gap(1)])
}

function waitRow(shown: Shown, { flow, run, since, what, why }: Wait, name: number, width: number): Line {
  const reason = why === '' ? '' : `: ${why}`
  return row(width, [
    gap(1),
    WAITS,
    gap(1),
    left(flow, name),
    gap(2),
    left(run === null ? 'live' : shortRun(run), 4),
    gap(2),
    span(`waits ${waitTime(sinceOf(since, shown))} for ${what}${reason}`),
    gap(1),
  ])
}

/** In a narrow column: two rows for each run. */
export function runColumn(shown: Shown, width: number, height: number): Line[] {
  const rows = runRows(shown.engine).filter(({ run }) => run !== null)
  const at = cursorIn(runRows(shown.engine), 'runs', shown.view)
  const isIn = shown.view.part === 'runs'
  const { first, last } = windowOf(isIn ? Math.min(at, rows.length - 1) : 0, rows.length, Math.floor(height / 2))
  return [
    rule(width, `runs ${rows.length}`, rangeText({ first, last }, rows.length)),
    ...rows.slice(first, last).flatMap((each, index) => {
      const { flow, id, progress, doing, started_at, created_at } = each.run!
      const since = span(age(sinceOf(started_at ?? created_at, shown)), DIM)
      const head = row(
        width,
        [gap(1), RUNS, gap(1), span(flow), gap(1), span(shortRun(id)), gap(1), span(doing)],
        [gap(2), since, gap(1)],
      )
      const share = right(progress === null ? '' : percent(progress), 5)
      const drawn = { text: bar(progress ?? 0, Math.max(0, width - 10)), style: RUNS.style }
      const below = row(width, [gap(3), drawn], [gap(1), share, gap(1)])
      return [isIn && first + index === at ? reversed(head) : head, below]
    }),
  ]
}

/** In a narrow column: who waits, for what, and who has it. */
export function waitColumn(shown: Shown, width: number, height: number): Line[] {
  const all = runRows(shown.engine)
  const waits = all.filter(({ wait }) => wait !== null)
  const at = cursorIn(all, 'runs', shown.view)
  const lines = waits.flatMap(({ id, wait }) => {
    const { flow, run, since, what, why } = wait!
    const head = row(
      width,
      [gap(1), WAITS, gap(1), span(flow), gap(1), span(run === null ? 'live' : shortRun(run)), gap(2)],
      [span(waitTime(sinceOf(since, shown)), DIM), gap(1)],
    )
    const reason = wrapped(why === '' ? what : `${what}; ${why}`, width - 4, 2).map(text =>
      row(width, [gap(3), span(text)]),
    )
    return [shown.view.part === 'runs' && all[at]?.id === id ? reversed(head) : head, ...reason]
  })
  return [rule(width, `waiting ${waits.length}`), ...lines.slice(0, height)]
}
