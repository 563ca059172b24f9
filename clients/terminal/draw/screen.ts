import { issuesOf } from '../state/issues.ts'
import { rowsOf, runRows, type Shown } from '../view.ts'
import { columnsFor, flowList, nodeList } from './flows.ts'
import { firstLine, isOld, secondLine } from './header.ts'
import { issueColumn, issueList } from './issues.ts'
import { keyLine } from './keys.ts'
import { beside, blank, cutTo, DIM, gap, type Line, widthOf } from './line.ts'
import { logList } from './log.ts'
import { machineColumn } from './machines.ts'
import { overlayLines } from './overlay.ts'
import { runColumn, runList, waitColumn } from './runs.ts'

export interface Size {
  readonly columns: number
  readonly rows: number
}

/** From here on two columns. */
const TWO_COLUMNS = 110
/** Less than this: the first two lines and the flows that fit. */
const LEAST: Size = { columns: 80, rows: 24 }
const HEADER = 2
const KEYS = 1

/** All rows of the screen, each exactly as wide as it. Nothing but its arguments counts. */
export function drawScreen(shown: Shown, { columns, rows }: Size): Line[] {
  const { overlay } = shown.view
  const header = [firstLine(shown, columns), secondLine(shown, columns)]
  const height = Math.max(0, rows - HEADER - KEYS)
  const body = overlay !== null ? overlayLines(overlay, columns, height) : bodyLines(shown, columns, height)
  // What is old is never shown bright; the first line says how old.
  const figures = isOld(shown) ? [header[1]!, ...body].map(dimmed) : [header[1]!, ...body]
  const lines = [header[0]!, ...figures.slice(0, HEADER - 1 + height), keyLine(shown.view, columns)]
  return lines.slice(0, rows).map(line => exactly(line, columns))
}

function bodyLines(shown: Shown, width: number, height: number): Line[] {
  if (width < LEAST.columns || height < LEAST.rows - HEADER - KEYS)
    return filled(flowsOnly(shown, width, height), width, height)
  if (width >= TWO_COLUMNS) return twoColumns(shown, width, height)
  return oneColumn(shown, width, height)
}

function flowsOnly(shown: Shown, width: number, height: number): Line[] {
  const columns = columnsFor(width, longestName(shown))
  const list = shown.view.isOpen ? nodeList : flowList
  return list(shown, columns, width, Math.max(0, height - 2))
}

/** Flows, runs with who waits, issues, log, one below the other. */
function oneColumn(shown: Shown, width: number, height: number): Line[] {
  const rules = 5
  const room = height - rules
  // A third of it for runs at most, and so on; what one does not need the flows take, and then the log.
  const runs = Math.min(runRows(shown.engine).length, Math.max(5, Math.floor(room / 3)))
  const issues = Math.min(issuesOf(shown.engine).issues.length, Math.max(2, Math.floor(room / 6)))
  const log = Math.max(2, Math.floor(room / 6))
  const list = shown.view.isOpen ? rowsOf('nodes', shown).length : shown.flows.length
  const flows = Math.min(Math.max(4, list), room - runs - issues - log)
  const columns = columnsFor(width, longestName(shown))
  return filled(
    [
      ...(shown.view.isOpen ? nodeList : flowList)(shown, columns, width, flows),
      ...runList(shown, width, runs),
      ...issueList(shown, width, issues),
      ...logList(shown, width, room - runs - issues - flows),
    ],
    width,
    height,
  )
}

/** Flows and the nodes of the one under the cursor; beside them runs, waits, issues and machines; the log below both. */
function twoColumns(shown: Shown, width: number, height: number): Line[] {
  const log = Math.max(4, Math.floor((height + 1) / 3))
  const upper = height - log - 1
  const end = Math.max(40, Math.min(64, Math.floor(width * 0.36)))
  const start = width - 1 - end
  const columns = columnsFor(start, longestName(shown))
  const room = upper - 4
  const flows = Math.min(Math.max(4, shown.flows.length), Math.max(4, Math.round(room * 0.6)))
  const leftRows = [
    ...flowList(shown, columns, start, flows),
    ...nodeList(shown, columns, start, Math.max(0, room - flows)),
  ]
  const rightRows = rightColumn(shown, end, upper)
  const both = Array.from({ length: upper }, (_, at) =>
    beside(exactly(leftRows[at] ?? blank(start), start), exactly(rightRows[at] ?? blank(end), end)),
  )
  return filled([...both, ...logList(shown, width, log)], width, height)
}

function rightColumn(shown: Shown, width: number, height: number): Line[] {
  const machines = machineColumn(shown, width, Math.floor(height / 3))
  const room = height - machines.length - 3
  const rows = runRows(shown.engine)
  const running = rows.filter(({ run }) => run !== null).length
  const issues = issuesOf(shown.engine)
  const wantedWaits = 3 * (rows.length - running)
  const advice = issues.advice > 0 ? 1 : 0
  const rest = room - 2 * running - wantedWaits - advice
  const wantedIssues = issues.issues.length * (rest >= 3 * issues.issues.length ? 3 : 2) + advice
  const forIssues = Math.min(wantedIssues, Math.max(Math.floor(room / 4), room - 2 * running - wantedWaits))
  const forWaits = Math.min(wantedWaits, Math.max(Math.floor(room / 4), room - 2 * running - forIssues))
  const forRuns = Math.max(0, room - forIssues - forWaits)
  return [
    ...runColumn(shown, width, Math.min(forRuns, 2 * running)),
    ...waitColumn(shown, width, forWaits),
    ...issueColumn(shown, width, forIssues),
    ...machines,
  ]
}

const longestName = ({ flows }: Shown): number => flows.reduce((most, { name }) => Math.max(most, name.length), 0)

function filled(lines: Line[], width: number, height: number): Line[] {
  while (lines.length < height) lines.push(blank(width))
  return lines.slice(0, height)
}

function exactly(line: Line, width: number): Line {
  const taken = widthOf(line)
  return taken === width ? line : taken < width ? [...line, gap(width - taken)] : cutTo(line, width)
}

const dimmed = (line: Line): Line =>
  line.map(({ text, style: { isReversed = false } }) => ({ text, style: { ...DIM, isReversed } }))
