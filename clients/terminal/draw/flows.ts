import type { FlowState } from '../state/engine-state.ts'
import { needOf, SORT_TEXTS } from '../state/order.ts'
import { cursorIn, flowUnder, nodeRows, rowsOf, type Shown } from '../view.ts'
import { age, milliseconds, percent, perSecond, zeroLine } from './figures.ts'
import { blank, cutTo, DIM, gap, type Line, left, PLAIN, reversed, right, rule, type Span, widthOf } from './line.ts'
import { needMark } from './marks.ts'

const NAME = 14
const NAME_MOST = 40
const RATE = 7
const LINE = 20
const LINE_LEAST = 8
const P99 = 7
const QUEUE = 7
const NOTE = 16
/** The cursor, the mark and a space. */
const MARKS = 3
/** Of a point of the line. */
const POINT_S = 3

/** Columns of the list in so much room; 0: left out. They leave in this order: note, queue, p99, last minute. */
export interface Columns {
  readonly name: number
  readonly line: number
  readonly p99: number
  readonly queue: number
  readonly note: number
}

export function columnsFor(width: number, longest: number): Columns {
  const least = MARKS + NAME + 1 + RATE
  let room = width - least - 1
  const take = (wanted: number, isWanted = true): number => {
    if (!isWanted || room < wanted) return 0
    room -= wanted
    return wanted
  }
  const hasLine = take(2 + LINE_LEAST) > 0
  const p99 = take(P99, hasLine)
  const queue = take(QUEUE, p99 > 0)
  const hasNote = take(2 + NOTE, queue > 0) > 0
  const more = hasLine ? Math.min(LINE - LINE_LEAST, room) : 0
  room -= more
  const wider = Math.max(0, Math.min(NAME_MOST, longest) - NAME)
  const name = NAME + Math.min(wider, hasNote ? Math.floor((room * 2) / 3) : room)
  return {
    name,
    line: hasLine ? LINE_LEAST + more : 0,
    p99,
    queue,
    note: hasNote ? NOTE + room - (name - NAME) : 0,
  }
}

export const lineTitle = (width: number): string =>
  width >= LINE ? 'last minute' : width >= 9 ? `last ${width * POINT_S} s` : `${width * POINT_S} s`

export interface Cells {
  readonly mark: Span
  readonly name: string
  readonly per_s: string
  readonly line: string
  readonly p99: string
  readonly queue: string
  readonly note: string
}

/** A row of the list of flows, or of that of nodes: the same columns, so that their figures stand in line. */
export function listRow(cells: Cells, columns: Columns, width: number, isHere: boolean): Line {
  const { name, line, p99, queue, note } = columns
  const isOff = cells.mark.text === '‖'
  const spans = [
    { text: isHere ? '›' : ' ', style: PLAIN },
    cells.mark,
    gap(1),
    left(cells.name, name, isOff ? DIM : PLAIN),
    gap(1),
    right(cells.per_s, RATE),
    ...(line > 0 ? [gap(2), left(cells.line, line)] : []),
    ...(p99 > 0 ? [right(cells.p99, p99)] : []),
    ...(queue > 0 ? [right(cells.queue, queue)] : []),
    ...(note > 0 ? [gap(2), left(cells.note, note)] : []),
  ]
  const whole = [...cutTo(spans, width), gap(width - widthOf(spans))]
  return isHere ? reversed(whole) : whole
}

export function listHead(title: string, note: string, columns: Columns, width: number, hasQueue = true): Line {
  const cells = {
    mark: gap(1),
    name: title,
    per_s: 'per s',
    line: lineTitle(columns.line),
    p99: 'p99 ms',
    queue: hasQueue ? 'queue' : '',
    note,
  }
  return listRow(cells, columns, width, false).map(({ text }) => ({ text, style: DIM }))
}

/** First and last of `height` rows with the one at `at` among them. */
export function windowOf(at: number, count: number, height: number): { first: number; last: number } {
  const first = Math.max(0, Math.min(at - Math.floor(height / 2), count - height))
  return { first, last: Math.min(count, first + height) }
}

/** `1–7` of more rows than there is room for. */
export const rangeText = ({ first, last }: { first: number; last: number }, count: number): string =>
  last - first < count ? `${first + 1}–${last}` : ''

export function noteOf(flow: FlowState): string {
  const { enabled, activity, updated_by, issues } = flow
  if (!enabled) return updated_by === '' ? 'disabled' : `disabled by ${updated_by}`
  const { down = 0, errors = 0 } = activity ?? {}
  const others = issues.filter(({ advisory, code }) => !advisory && code !== 'node_down' && code !== 'node_error')
  const parts = [
    ...(down > 0 ? [`${down} down`] : []),
    ...(errors > 0 ? [`${errors} failed`] : []),
    ...(needOf(flow) === 'fills' || (activity?.share ?? 0) >= 1 ? ['fills'] : []),
    ...(others.length > 0
      ? [others.length === 1 ? others[0]!.code.replaceAll('_', ' ') : `${others.length} issues`]
      : []),
  ]
  return parts.join(', ')
}

/** The list of flows with its rule and head, `height` rows of it. */
export function flowList(shown: Shown, columns: Columns, width: number, height: number): Line[] {
  const { flows, view, engine } = shown
  const at = cursorIn(rowsOf('flows', shown), 'flows', view)
  const { first, last } = windowOf(at, flows.length, height)
  const total = Object.keys(engine.flows).length
  const filtered = view.filter === '' ? '' : ` of ${total}`
  const order = width >= 76 && view.sort === 'need' && flows.length <= height ? SORT_TEXTS.need : ''
  const range = rangeText({ first, last }, flows.length)
  const sorted = view.sort === 'need' ? order : SORT_TEXTS[view.sort]
  const end = [sorted, range].filter(text => text !== '').join(', ')
  const lines = [
    rule(width, `flows ${flows.length}${filtered}`, end),
    listHead('name', 'note', columns, width),
    ...flows.slice(first, last).map((flow, index) => {
      const isHere = view.part === 'flows' && first + index === at
      return listRow(cellsOf(flow, columns), columns, width, isHere)
    }),
  ]
  if (flows.length === 0) lines.push([left(`   ${emptyText(shown)}`, width, DIM)])
  while (lines.length < height + 2) lines.push(blank(width))
  return lines
}

function emptyText({ engine, view }: Shown): string {
  if (!engine.isListed) return ''
  if (view.filter !== '') return `no flow has "${view.filter}" in its name; Esc shows all`
  return 'there are no flows yet: "svc flows put" stores one'
}

function cellsOf(flow: FlowState, columns: Columns): Cells {
  const { name, activity, line } = flow
  return {
    mark: needMark(needOf(flow)),
    name,
    per_s: activity === null ? '' : perSecond(activity.per_s),
    line: activity === null ? '' : zeroLine(line, columns.line),
    p99: activity === null ? '' : milliseconds(activity.p99_s),
    queue: activity === null ? '' : percent(activity.share),
    note: noteOf(flow),
  }
}

/** The nodes of the flow under the cursor, those that need a look first. */
export function nodeList(shown: Shown, columns: Columns, width: number, height: number): Line[] {
  const { view, wall_ms } = shown
  const flow = flowUnder(shown)
  if (flow === null) return [rule(width, 'no flow'), ...Array.from({ length: height + 1 }, () => blank(width))]
  const nodes = nodeRows(shown)
  const trouble = new Map(
    flow.issues.filter(({ advisory, node }) => !advisory && node !== null).map(issue => [issue.node!, issue]),
  )
  const at = cursorIn(nodes, 'nodes', view)
  const isIn = view.part === 'nodes'
  const { first, last } = windowOf(isIn ? at : 0, nodes.length, height)
  const range = rangeText({ first, last }, nodes.length)
  const count = `${flow.nodes} ${flow.nodes === 1 ? 'node' : 'nodes'}`
  const looks = trouble.size === 0 ? '' : `, ${trouble.size} of them ${trouble.size === 1 ? 'needs' : 'need'} a look`
  const lines = [
    rule(width, flow.name, `${count}${looks}${range === '' ? '' : `, ${range}`}`),
    listHead('node', 'state', columns, width, false),
    ...nodes.slice(first, last).map(({ id, per_s, p99_s, last_minute = [] }, index) => {
      const issue = trouble.get(id)
      const isDown = issue?.code === 'node_down'
      const since = issue?.since == null ? '' : ` ${age(wall_ms - Date.parse(issue.since))}`
      const cells = {
        mark: needMark(issue === undefined ? 'normal' : isDown ? 'down' : 'error'),
        name: id,
        per_s: perSecond(per_s),
        line: zeroLine(last_minute, columns.line),
        p99: milliseconds(p99_s),
        queue: '',
        note: issue === undefined ? '' : isDown ? `down${since}` : `failed${since} ago`,
      }
      return listRow(cells, columns, width, isIn && first + index === at)
    }),
  ]
  while (lines.length < height + 2) lines.push(blank(width))
  return lines
}
