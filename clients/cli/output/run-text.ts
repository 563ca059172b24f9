import type { EngineEvent } from '../../../protocol/nouns/event.ts'
import type { Run, RunStatus } from '../../../protocol/nouns/run.ts'
import { recordedError } from '../command-hints.ts'
import { duration, shortTime } from './figures.ts'
import type { Output } from './output.ts'
import { table } from './table.ts'
import { fit, printable } from './text.ts'

const PARAMS_COLUMNS = 80

/** The inputs of a run as they were given, `window=12 mode=fast`, cut at 80 columns. */
export const params = (inputs: Readonly<Record<string, unknown>>): string =>
  fit(
    printable(
      Object.entries(inputs)
        .map(([name, value]) => `${name}=${valueText(value)}`)
        .join(' '),
    ),
    PARAMS_COLUMNS,
  )

/** Words as they are, all else as JSON. */
export const valueText = (value: unknown): string =>
  typeof value === 'string' && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value)

export const took = ({ duration: seconds }: Pick<Run, 'duration'>): string =>
  seconds === null ? '' : duration(seconds)

const COLOURS: Readonly<Record<RunStatus, Parameters<Output['style']>[0]>> = {
  queued: 'dim',
  running: 'cyan',
  succeeded: 'green',
  failed: 'red',
  cancelled: 'yellow',
}
export const statusText = (output: Output, status: RunStatus): string => output.style(COLOURS[status], status)

/** `run … succeeded in 3 s`, and why it did not. */
export function outcome(run: Run): string {
  const { id, status, error } = run
  const ending = `run ${id} ${status}${run.duration === null ? '' : ` in ${duration(run.duration)}`}`
  if (error === null) return ending
  const where = error.node === null ? '' : `${run.flow}.${error.node}: `
  return `${ending}: ${where}${recordedError(error)}`
}

/** What the run made, the terminal messages first. */
export function resultTable(run: Run, width: number | undefined): string[] {
  const isTerminal = (name: string): boolean => run.terminal.includes(name)
  const rows = Object.entries(run.result ?? {}).sort(([a], [b]) => Number(isTerminal(b)) - Number(isTerminal(a)))
  return table(
    rows,
    [
      { title: 'message', cell: ([name]) => name },
      { title: 'value', cell: ([, value]) => JSON.stringify(value) },
    ],
    width,
  )
}

/** `12:00:01 node_queued node=boiler.mean position=1` */
export function eventText(event: EngineEvent): string {
  const { type, ts, flow: _flow, run: _run, ...more } = event
  const told = Object.entries(more).filter(([, value]) => value !== null && value !== undefined)
  return [shortTime(ts).slice(11), type, ...told.map(([name, value]) => `${name}=${valueText(value)}`)].join(' ')
}
