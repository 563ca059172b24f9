/**
 * What the benches share: contestants that run in turn, medians, rows, rivals installed on demand, progress on stderr.
 * Children that a bench talks to are in `partner.ts`.
 */
import { spawn } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** One line of a result. `ours_over_floor` and `ours_over_rival` are the figures that count: machines are shared and noisy. */
export interface Row {
  case: string
  unit: string
  floor: number | null
  ours: number | null
  rival: number | null
  ours_over_floor: number | null
  ours_over_rival: number | null
  /** How often each contestant ran; the figures are the medians. */
  runs: number
}

export interface Bench {
  name: string
  /** One line for the list of benches: the question that it answers. */
  shows: string
  /** What floor and rival are, for the heading of the table. */
  floor: string
  rival: string
  run(): Promise<Row[]>
}

/** Case -> figure. A contestant may answer several cases in one run. */
export type Figures = Record<string, number>
export type Contestant = () => Promise<Figures>

export interface Comparison {
  /** The unit of every case, or of each. */
  unit: string | Record<string, string>
  /** At least five for a published figure. */
  runs?: number
  floor?: Contestant
  ours?: Contestant
  rival?: Contestant
}

/** Something that the bench needs is not there; the text names it. The bench exits non-zero. */
export class MissingPart extends Error {}

export const RUNS = 5
const RIVALS = join(import.meta.dirname, 'rivals')
const INSTALL_TIMEOUT_MS = 150_000

export function progress(text: string): void {
  process.stderr.write(`  ${text}\n`)
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}

/** Runs the contestants in turn (floor, ours, rival, floor, ours, rival ...), so that a noisy minute hits all of them. */
export async function compare(comparison: Comparison): Promise<Row[]> {
  const runs = comparison.runs ?? RUNS
  const contestants = (['floor', 'ours', 'rival'] as const).filter(name => comparison[name] !== undefined)
  const seen = new Map<string, { floor: number[]; ours: number[]; rival: number[] }>()
  for (let run = 1; run <= runs; run++) {
    for (const contestant of contestants) {
      const figures = await comparison[contestant]!()
      for (const [name, figure] of Object.entries(figures)) {
        const lists = seen.get(name) ?? { floor: [], ours: [], rival: [] }
        seen.set(name, lists)
        lists[contestant].push(figure)
      }
      const line = Object.entries(figures).map(([name, figure]) => `${name} ${short(figure)}`)
      progress(`run ${run}/${runs}  ${contestant.padEnd(5)}  ${line.join('  ')}`)
    }
  }
  return [...seen].map(([name, lists]) => {
    const unit = typeof comparison.unit === 'string' ? comparison.unit : (comparison.unit[name] ?? '')
    return row(name, unit, runs, {
      floor: lists.floor.length === 0 ? null : median(lists.floor),
      ours: lists.ours.length === 0 ? null : median(lists.ours),
      rival: lists.rival.length === 0 ? null : median(lists.rival),
    })
  })
}

export function row(name: string, unit: string, runs: number, figures: Pick<Row, 'floor' | 'ours' | 'rival'>): Row {
  const over = (other: number | null): number | null =>
    figures.ours === null || other === null || other === 0 ? null : digits(figures.ours / other)
  const kept = (figure: number | null): number | null => (figure === null ? null : digits(figure))
  return {
    case: name,
    unit,
    floor: kept(figures.floor),
    ours: kept(figures.ours),
    rival: kept(figures.rival),
    ours_over_floor: over(figures.floor),
    ours_over_rival: over(figures.rival),
    runs,
  }
}

/** Four digits that mean something. */
const digits = (figure: number): number => Number(figure.toPrecision(4))

/** `12.3M`, `48.1k`, `0.42`: a figure for people. */
export function short(figure: number | null): string {
  if (figure === null) return '-'
  const size = Math.abs(figure)
  if (size >= 1e9) return `${(figure / 1e9).toPrecision(3)}G`
  if (size >= 1e6) return `${(figure / 1e6).toPrecision(3)}M`
  if (size >= 1e4) return `${(figure / 1e3).toPrecision(3)}k`
  return String(Number(figure.toPrecision(3)))
}

export function table(bench: Bench, rows: readonly Row[]): string {
  const head = ['case', 'unit', 'floor', 'ours', 'rival', 'ours/floor', 'ours/rival', 'runs']
  const body = rows.map(r => [
    r.case,
    r.unit,
    short(r.floor),
    short(r.ours),
    short(r.rival),
    short(r.ours_over_floor),
    short(r.ours_over_rival),
    String(r.runs),
  ])
  const widths = head.map((cell, column) => Math.max(cell.length, ...body.map(cells => cells[column]!.length)))
  const line = (cells: readonly string[]): string =>
    cells.map((cell, column) => (column < 2 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!))).join('  ')
  return [
    `${bench.name}: ${bench.shows}`,
    `floor: ${bench.floor}`,
    `rival: ${bench.rival}`,
    '',
    line(head),
    ...body.map(line),
  ].join('\n')
}

/** The folder of a rival with its packages in place; installs them when they are not. */
export async function rivalFolder(name: string): Promise<string> {
  const folder = join(RIVALS, name)
  const lock = join(folder, 'package-lock.json')
  if (!existsSync(lock)) throw new MissingPart(`the rival ${name}: ${lock} is not there`)
  const mark = join(folder, 'node_modules', '.package-lock.json')
  if (!existsSync(mark) || statSync(mark).mtimeMs < statSync(lock).mtimeMs) {
    progress(`installing the rival ${name} ...`)
    const said = await npm(['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], folder)
    if (!existsSync(mark)) throw new MissingPart(`the rival ${name}: "npm ci" in ${folder} failed: ${said.trim()}`)
  }
  return folder
}

/** The version of a rival's package, for headings. */
export function rivalVersion(folder: string, name: string): string {
  return (JSON.parse(readFileSync(join(folder, 'node_modules', name, 'package.json'), 'utf8')) as { version: string })
    .version
}

/** What npm said on stderr; whether it worked is seen in the folder. */
function npm(words: readonly string[], folder: string): Promise<string> {
  const child = spawn('npm', words, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'], timeout: INSTALL_TIMEOUT_MS })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', text => (said += text))
  return new Promise(resolve => {
    child.on('error', error => resolve(String(error)))
    child.on('close', () => resolve(said))
  })
}
