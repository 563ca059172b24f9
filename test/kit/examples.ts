import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { examples } from '../../docs/examples/index.ts'
import { checkSource } from '../../threads/nodes/code.ts'
import { ROOT } from './sources.ts'

/** The examples without an engine: their bodies in sequence, and the labels that the alarm of `machine` is held against. */

const DATA = join(ROOT, 'docs', 'examples', 'machine', 'data')
const SERIES = 'machine_temperature_system_failure.csv'

type Values = Record<string, unknown>
type Body = (inputs: Values, ctx: { settings: Values; state: Values; signal: AbortSignal }) => unknown

/** The body of a node and a context for it, with its settings or with others in their place. */
export async function bodyOf(flow: string, id: string, settings: Values = {}): Promise<(inputs: Values) => unknown> {
  const node = examples()
    .find(example => example.name === flow)!
    .document.nodes.find(candidate => candidate.id === id)!
  const code = Buffer.from(checkSource('ts', node.source!).code).toString('base64')
  const { default: body } = (await import(`data:text/javascript;base64,${code}`)) as { default: Body }
  const ctx = { settings: { ...node.settings, ...settings }, state: {}, signal: new AbortController().signal }
  return inputs => body(inputs, ctx)
}

export interface AlarmChange {
  alarm: boolean
  /** Index of the reading. */
  changed_at: number
}

/** Replays the whole series at full speed through the bodies; `settings` by node id. */
export async function alarmChanges(settings: Record<string, Values> = {}): Promise<AlarmChange[]> {
  const replay = await bodyOf('machine', 'replay', { speed: 0, repeat: false })
  const smooth = await bodyOf('machine', 'smooth', settings['smooth'])
  const baseline = await bodyOf('machine', 'baseline', settings['baseline'])
  const alarm = await bodyOf('machine', 'alarm', settings['alarm'])
  const changes: AlarmChange[] = []
  for (const emission of replay({ started: true }) as Iterable<{ temperature: number; reading: number }>) {
    const { deviation } = baseline(smooth({ temperature: emission.temperature }) as Values) as Values
    const change = alarm({ deviation, reading: emission.reading })
    if (change !== undefined) changes.push(change as AlarmChange)
  }
  return changes
}

export interface Verdict {
  /** Per labelled window: the timestamp of the first reading in it at which the alarm was true, null when it never was. */
  windows: (string | null)[]
  /** Windows inside which the alarm was raised, not only still true. */
  raised_inside: number
  /** Timestamps of the readings outside every window at which the alarm was raised. */
  false_alarms: string[]
}

/** Holds the changes of the alarm against the benchmark's labels. */
export function judge(changes: readonly AlarmChange[]): Verdict {
  const timestamps = readingTimestamps()
  const windows = labelledWindows()
  const windowOf = (reading: number): number =>
    windows.findIndex(([from, to]) => timestamps[reading]! >= from && timestamps[reading]! <= to)
  const found: (string | null)[] = windows.map(() => null)
  const raised = changes.filter(change => change.alarm).map(change => change.changed_at)
  for (const [position, change] of changes.entries()) {
    if (!change.alarm) continue
    const cleared = changes[position + 1]?.changed_at ?? timestamps.length
    for (let reading = change.changed_at; reading < cleared; reading++) {
      const window = windowOf(reading)
      if (window >= 0) found[window] ??= timestamps[reading]!
    }
  }
  return {
    windows: found,
    raised_inside: new Set(raised.map(windowOf).filter(window => window >= 0)).size,
    false_alarms: raised.filter(reading => windowOf(reading) < 0).map(reading => timestamps[reading]!),
  }
}

/** `2013-12-02 21:15:00` of each reading. */
export function readingTimestamps(): string[] {
  const lines = readFileSync(join(DATA, SERIES), 'utf8').trim().split('\n')
  return lines.slice(1).map(line => line.slice(0, line.indexOf(',')))
}

function labelledWindows(): [from: string, to: string][] {
  const labels = JSON.parse(readFileSync(join(DATA, 'anomaly_windows.json'), 'utf8')) as Record<string, string[][]>
  return labels[`realKnownCause/${SERIES}`]!.map(([from, to]) => [from!.slice(0, 19), to!.slice(0, 19)])
}
