import { issuesOf } from '../state/issues.ts'
import { cursorIn, type Shown } from '../view.ts'
import { age } from './figures.ts'
import { rangeText, windowOf } from './flows.ts'
import { DIM, gap, type Line, left, reversed, row, rule, span, wrapped } from './line.ts'
import { ADVICE, DOWN, ERROR } from './marks.ts'

const SOURCE_LEAST = 12
const SOURCE_MOST = 30

export const adviceText = (advice: number): string =>
  advice === 0 ? '' : advice === 1 ? '1 piece of advice' : `${advice} pieces of advice`

/** A row for each issue; what it says is cut at its end. */
export function issueList(shown: Shown, width: number, height: number): Line[] {
  const { issues, advice } = issuesOf(shown.engine)
  const at = cursorIn(issues, 'issues', shown.view)
  const isIn = shown.view.part === 'issues'
  const { first, last } = windowOf(isIn ? at : 0, issues.length, height)
  const longest = Math.max(SOURCE_LEAST, ...issues.slice(first, last).map(({ source }) => source.length))
  const name = Math.min(SOURCE_MOST, Math.floor(width / 3), longest)
  const end = [rangeText({ first, last }, issues.length), adviceText(advice)].filter(text => text !== '').join(', ')
  return [
    rule(width, `issues ${issues.length}`, end),
    ...issues.slice(first, last).map(({ source, isDown, text, since_ms }, index) => {
      const since = since_ms === null ? '' : age(shown.wall_ms - since_ms)
      const start = [gap(1), isDown ? DOWN : ERROR, gap(1), left(source, name), gap(2), span(text)]
      const line = row(width, start, [gap(2), span(since, DIM), gap(1)])
      return isIn && first + index === at ? reversed(line) : line
    }),
  ]
}

/** Rows of an issue in a narrow column: its text has two where there is room for those of all. */
const rowsEach = (issues: number, room: number): number => (room >= 3 * issues ? 3 : 2)

/** In a narrow column: where and since when, and below it what. */
export function issueColumn(shown: Shown, width: number, height: number): Line[] {
  const { issues, advice } = issuesOf(shown.engine)
  const at = cursorIn(issues, 'issues', shown.view)
  const isIn = shown.view.part === 'issues'
  const room = Math.max(0, height - (advice > 0 ? 1 : 0))
  const each = rowsEach(issues.length, room)
  const { first, last } = windowOf(isIn ? at : 0, issues.length, Math.floor(room / each))
  const lines = issues.slice(first, last).flatMap(({ source, isDown, text, since_ms }, index) => {
    const since = since_ms === null ? '' : age(shown.wall_ms - since_ms)
    const head = row(width, [gap(1), isDown ? DOWN : ERROR, gap(1), span(source)], [gap(2), span(since, DIM), gap(1)])
    const below = wrapped(text, width - 4, each - 1).map(part => row(width, [gap(3), span(part)]))
    return [isIn && first + index === at ? reversed(head) : head, ...below]
  })
  if (advice > 0 && height > 0) {
    const and = issues.length === 0 ? '' : 'and '
    lines.push(row(width, [gap(1), ADVICE, span(` ${and}${adviceText(advice)}`, DIM)]))
  }
  return [rule(width, `issues ${issues.length}`, rangeText({ first, last }, issues.length)), ...lines]
}
