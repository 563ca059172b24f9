import { duration } from '../../cli/output/figures.ts'
import { runRows, type Shown } from '../view.ts'
import { age, clock, counted, day, perSecond } from './figures.ts'
import { BOLD, DIM, fitting, type Line, type Piece, RED, row, type Span, span, YELLOW } from './line.ts'
import { needMark } from './marks.ts'

/** What has not been heard of for so long is old. */
const STALE_MS = 2_000

/** How long nothing has come; null: what is shown is of now. */
export function silence({ engine, view, now_ms }: Shown): number | null {
  if (view.paused_ms !== null || engine.heard_ms === null) return null
  const silent_ms = now_ms - engine.heard_ms
  return silent_ms > STALE_MS ? silent_ms : null
}

/** What is shown is not of now, for whatever reason. */
export const isOld = (shown: Shown): boolean =>
  silence(shown) !== null || (shown.view.paused_ms !== null && shown.now_ms - shown.view.paused_ms > STALE_MS)

const between = (parts: readonly (readonly Span[])[], space: string): Span[] =>
  parts.filter(part => part.length > 0).flatMap((part, at) => (at === 0 ? part : [span(space), ...part]))

/** Which engine, since when, and whether what is shown is of now. */
export function firstLine(shown: Shown, width: number): Line {
  const { engine, wall_ms } = shown
  const isWide = width >= 110
  const start = between(
    [
      engine.name === '' ? [] : [span(engine.name, BOLD)],
      engine.version === '' ? [] : [span(engine.version)],
      [span(engine.url)],
    ],
    '  ',
  )
  const up = engine.started_ms === null ? [] : [span('up ', DIM), span(upText((wall_ms - engine.started_ms) / 1000))]
  const time = isWide ? `${day(wall_ms)} ${clock(wall_ms)}` : clock(wall_ms)
  const end = between([link(shown, isWide), up, [span(time)]], '   ')
  return row(width, [span(' '), ...start], [span('   '), ...end, span(' ')])
}

/** In whole seconds: nothing moves within one. */
const upText = (seconds: number): string => (seconds < 1 ? '0 s' : duration(Math.floor(seconds)))

function link(shown: Shown, isWide: boolean): Span[] {
  const { engine, view, now_ms } = shown
  if (view.paused_ms !== null) return [span(`paused ${age(now_ms - view.paused_ms)}`, YELLOW)]
  const silent_ms = silence(shown)
  if (silent_ms !== null) return [span(`no answer for ${age(silent_ms)}`, RED)]
  if (engine.heard_ms === null) return [span('connecting', DIM)]
  return isWide ? [span('live', DIM)] : []
}

/** What runs, what waits, what is wrong, in figures. */
export function secondLine({ engine }: Shown, width: number): Line {
  const isWide = width >= 110
  const flows = Object.values(engine.flows)
  let [enabled, down, errors] = [0, 0, 0]
  for (const flow of flows) {
    if (flow.enabled) enabled++
    down += flow.activity?.down ?? 0
    errors += flow.activity?.errors ?? 0
  }
  const { cascades, resources, panels } = engine
  const figure = (label: string, text: string, of = ''): Span[] => [span(`${label} `, DIM), span(text), span(of, DIM)]
  const waiting = runRows(engine).filter(({ wait }) => wait !== null).length
  const places = resources?.runs
  const pieces: Piece[] = [
    { weight: 9, spans: [span(`${enabled} of ${flows.length}`), span(isWide ? ' flows live' : ' live', DIM)] },
    { weight: 8, spans: [span(perSecond(engine.per_s).replace(/\.\d$/, '')), span('/s', DIM)] },
    {
      weight: 3,
      spans:
        cascades === null
          ? []
          : figure('cascades', counted(cascades.in_flight), isWide ? ` of ${counted(cascades.limit)}` : ''),
    },
    {
      weight: 5,
      spans: places === undefined ? [] : figure('runs', String(places.count - places.free), ` of ${places.count}`),
    },
    { weight: 4, spans: figure('waiting', String(Math.max(waiting, resources?.waiting_count ?? 0))) },
    { weight: 7, spans: down === 0 ? [] : [needMark('down'), span(` ${down} down`)] },
    { weight: 6, spans: errors === 0 ? [] : [needMark('error'), span(` ${errors} failed`)] },
    {
      weight: 2,
      spans:
        !isWide || panels === null || panels === 0
          ? []
          : [span(String(panels)), span(panels === 1 ? ' panel' : ' panels', DIM)],
    },
  ]
  return row(width, [span(' '), ...fitting(pieces, '   ', width - 1)])
}
