import { count, rate } from './figures.ts'
import type { Output } from './output.ts'
import type { ScreenSize } from './screen.ts'
import type { Series } from './series.ts'
import { sparkline } from './sparkline.ts'
import { columns, fit, padEnd, padStart } from './text.ts'

const GAP = 2
const RATE = 6
const MISSED = 6
const TREND_MIN = 6
const TREND_MAX = 60
const LAST_MIN = 8
const LAST_MAX = 24

interface Widths {
  readonly name: number
  /** 0 when it is not shown. */
  readonly trend: number
  readonly last: number
  readonly rate: number
  readonly missed: number
}

/**
 * The lines of the table, at most `rows`, each narrower than the terminal. Columns without room are left out in this order:
 * trend, missed, rate; the name and the last value always stay.
 */
export function tailTable(
  series: readonly Series[],
  state: string,
  screen: ScreenSize,
  output: Pick<Output, 'style'>,
  at_ms: number,
): string[] {
  // One column stays free: a full line would wrap on some terminals.
  const width = Math.max(10, screen.columns - 1)
  const room = Math.max(1, screen.rows - 2)
  const shown = series.slice(0, room)
  const widths = widthsFor(shown, width)
  const rest = series.length - shown.length
  const foot = rest > 0 ? `${state}  (${rest} more have no room here: name a flow or messages)` : state
  return [
    output.style('dim', row(['name', 'trend', 'last', 'rate/s', 'missed'], widths)),
    ...shown.map(each => {
      const missed = each.missed === 0 ? '' : count(each.missed)
      const trend = widths.trend === 0 ? '' : sparkline(each.points, widths.trend)
      return row([each.name, trend, each.last, rate(each.rate(at_ms)), missed], widths, output)
    }),
    output.style('dim', fit(foot, width)),
  ].slice(0, Math.max(1, screen.rows))
}

function widthsFor(series: readonly Series[], width: number): Widths {
  const longest = (texts: string[]) => texts.reduce((most, text) => Math.max(most, columns(text)), 0)
  const name = Math.min(Math.max(4, longest(series.map(each => each.name))), Math.max(4, Math.floor(width * 0.4)))
  const last = Math.min(LAST_MAX, Math.max(LAST_MIN, longest(series.map(each => each.last))))
  let left = width - name - GAP
  const takeIf = (wanted: number, isWanted: boolean): number => {
    if (!isWanted) return 0
    left -= wanted + GAP
    return wanted
  }
  const shownRate = takeIf(RATE, left - LAST_MIN >= RATE + GAP)
  const missed = takeIf(MISSED, left - LAST_MIN >= MISSED + GAP)
  const trend = left - last - GAP
  if (trend < TREND_MIN) return { name, trend: 0, last: Math.min(LAST_MAX, Math.max(1, left)), rate: shownRate, missed }
  return { name, trend: Math.min(TREND_MAX, trend), last, rate: shownRate, missed }
}

function row(cells: [string, string, string, string, string], widths: Widths, output?: Pick<Output, 'style'>): string {
  const style: Output['style'] =
    output === undefined ? (_style, text) => text : (style, text) => output.style(style, text)
  const [name, trend, last, perSecond, missed] = cells
  const parts = [padEnd(fit(name, widths.name), widths.name)]
  // A row without a trend uses that room for its value.
  const room = trend === '' && widths.trend > 0 ? widths.trend + GAP + widths.last : widths.last
  if (room === widths.last && widths.trend > 0)
    parts.push(style('cyan', padEnd(fit(trend, widths.trend), widths.trend)))
  parts.push(padStart(fit(last, room), room))
  if (widths.rate > 0) parts.push(padStart(fit(perSecond, widths.rate), widths.rate))
  if (widths.missed > 0) parts.push(style('yellow', padStart(fit(missed, widths.missed), widths.missed)))
  return parts.join(' '.repeat(GAP))
}
