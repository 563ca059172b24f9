import {
  type EngineState,
  type FlowState,
  newEngineState,
  type RunState,
} from '../../clients/terminal/state/engine-state.ts'
import { orderedFlows } from '../../clients/terminal/state/order.ts'
import { FIRST_VIEW, type Shown, type View } from '../../clients/terminal/view.ts'
import type { EngineEvent } from '../../protocol/nouns/event.ts'
import type { Issue } from '../../protocol/nouns/issue.ts'
import type { WorkerResources } from '../../protocol/worker/resources.ts'

/** An imagined installation with something of everything, as a terminal dashboard knows it. */

const NOW_MS = 1_000_000
/** 11:16:24 on the clock of this machine. */
export const WALL_MS = new Date(2026, 10, 22, 11, 16, 24).getTime()
const ago = (seconds: number): string => new Date(WALL_MS - seconds * 1000).toISOString()

const HEIGHTS = '▁▂▃▄▅▆▇█'
/** Points that a line of these heights is drawn from. */
const pointsOf = (line: string): number[] =>
  [...line].map(height => HEIGHTS.indexOf(height) && HEIGHTS.indexOf(height) + 1)

const none = { down: 0, errors: 0, waiting: 0 }
function flow(
  name: string,
  per_s: number,
  line: string,
  p99_ms: number | null,
  share: number,
  more: Partial<FlowState> = {},
): FlowState {
  const activity = { flow: name, per_s, p99_s: p99_ms === null ? null : p99_ms / 1000, share, ...none }
  return { name, enabled: true, updated_by: 'ada', nodes: 4, issues: [], activity, line: pointsOf(line), ...more }
}

const issue = (code: string, message: string, node: string | null, seconds: number, advisory = false): Issue => ({
  code,
  advisory,
  message,
  node,
  since: ago(seconds),
})

const boilerIssues = [
  issue(
    'node_down',
    'boiler.flame_cam reports itself down: no frame for 14 s; camera does not answer',
    'flame_cam',
    14,
  ),
  issue('node_error', 'level is null, line 12', 'alarm', 130),
  issue('slow_body', 'slow', 'efficiency', 100, true),
]

const run = (id: string, name: string, progress: number, doing: string, seconds: number): RunState => ({
  id: `0190f3c2-7b1e-7cc3-98c4-dc0c0c07${id}`,
  flow: name,
  status: 'running',
  created_at: ago(seconds),
  started_at: ago(seconds),
  progress,
  isWorking: true,
  doing,
})

const idOf = (short: string): string => `0190f3c2-7b1e-7cc3-98c4-dc0c0c07${short}`

const amounts = (gpus: number) => ({ cpus: null, gpus, ram_mb: null, flavor: null })
const held = (node: string, short: string, cards: number[]) => ({
  node,
  run: idOf(short),
  cpus: 4,
  cards,
  ram_mb: 0,
  since: ago(400),
})
const RESOURCES: WorkerResources = {
  machines: [
    {
      machine: 'local',
      capacity: { cpus: 14, gpus: 0, ram_mb: 32 * 1024 },
      free: { cpus: 9, cards: [], ram_mb: 22.2 * 1024 },
      held: [],
    },
    {
      machine: 'gpu-1',
      capacity: { cpus: 16, gpus: 2, ram_mb: 0 },
      free: { cpus: 8, cards: [], ram_mb: 0 },
      held: [held('forecast.train', '7c1e', [0]), held('forecast.train', 'a9d0', [1])],
    },
  ],
  waiting: [
    {
      node: 'forecast.train',
      run: idOf('b3f1'),
      asked: amounts(1),
      needs: amounts(1),
      since: ago(192),
      device: null,
      position: 1,
    },
  ],
  waiting_count: 1,
  runs: { count: 4, free: 0, set_aside: 0, wanting: 0 },
}

const event = (seconds: number, more: Record<string, unknown>): EngineEvent =>
  ({ type: 'node_log', ts: ago(seconds), flow: null, run: null, level: 'info', ...more }) as EngineEvent

const LOG: EngineEvent[] = [
  event(26, { type: 'flow_saved', flow: 'boiler', version: 41, by: 'ada' }),
  event(16, { type: 'node_error', flow: 'boiler', node: 'boiler.alarm', message: 'TypeError: level is null, line 12' }),
  event(14, {
    type: 'node_down',
    flow: 'boiler',
    node: 'boiler.flame_cam',
    text: 'no frame; 10.4.0.21 does not answer',
  }),
  event(3, { flow: 'boiler', node: 'boiler.flame_cam', level: 'warn', text: 'ffmpeg ended with 1, next try in 8 s' }),
  event(0, { type: 'run_started', flow: 'detector', run: idOf('b220') }),
]

export function boilerHouse(): EngineState {
  const flows = [
    flow('boiler', 412.6, '▇▇▇▇▇▇▇▇▇▇███▇▇▆▆▆▆▆', 0.31, 0.04, { nodes: 15, issues: boilerIssues }),
    flow('pump', 1204, '▅▅▅▅▅▅▅▅▆▆█▇█▇██████', 0.27, 0.62),
    flow('vibration', 25_613, '▇▇▇████████▇████████', 0.21, 0.08),
    flow('conveyor', 96.4, '▇▇▆▆▇▅▆▆▆█▇▇▆▅▆▆▅▆▄▄', 0.18, 0.01),
    flow('cooling', 48, '█▇▇▇▇█▇▇▇▇▇▇▇▇▆▇▇▇▇▇', 0.12, 0),
    flow('gate_camera', 24.9, '████████████████████', 6.8, 0.03),
    flow('machine', 20, '█████████▇▇█████████', 0.08, 0),
    flow('loading_camera', 12.5, '████████████▇█▇███▇▇', 7.2, 0.02),
    flow('energy', 1, '████████████████████', 0.44, 0),
    flow('host', 1, '████████████████████', 0.09, 0),
    flow('weather', 0.2, '▇▇▇▇▇█▆▆▅▆▅▄▄▄▆▇▆▇█▅', 212, 0),
    flow('mail_report', 0, '▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁', null, 0, { enabled: false }),
  ]
  flows[0]!.activity = { ...flows[0]!.activity!, down: 1, errors: 1 }
  const node = (id: string, per_s: number, line: string, p99_ms: number | null) => ({
    id,
    per_s,
    p99_s: p99_ms === null ? null : p99_ms / 1000,
    last_minute: pointsOf(line),
  })
  return {
    ...newEngineState('http://127.0.0.1:8700', 'boiler-house'),
    version: '0.1.5',
    started_ms: WALL_MS - (41 * 24 + 6) * 3_600_000,
    flows: Object.fromEntries(flows.map(each => [each.name, each])),
    isListed: true,
    per_s: 27_411,
    cascades: { in_flight: 38, limit: 1000 },
    heard_ms: NOW_MS - 500,
    isConnected: true,
    nodes: {
      flow: 'boiler',
      items: [
        node('plc', 40.2, '▇██▇▇▇▇████▇▇███', 0.04),
        node('alarm', 30.1, '█████████████▇▇▇', 0.07),
        node('efficiency', 10, '██▇▇▇▇▇▇▇█████▇▇', 23),
        node('smooth', 10, '▇▇▇██▇▇▇▇▇▇█████', 0.06),
        node('keep', 0.4, '▂▃▇▅▃▅▆█▅▆▇▃▂▂▂▁', 4.1),
        node('flame_cam', 0, '', null),
      ],
    },
    runs: [
      run('7c1e', 'forecast', 0.65, 'train', 370),
      run('a9d0', 'forecast', 0.42, 'train', 1150),
      run('a9d4', 'forecast', 0.87, 'evaluate', 70),
      run('b220', 'detector', 0.92, 'score', 2),
    ],
    resources: RESOURCES,
    panels: 9,
    log: LOG,
    logged: LOG.length,
  }
}

/** It, seen at that moment. */
export function shownOf(engine: EngineState, view: Partial<View> = {}): Shown {
  const whole = { ...FIRST_VIEW, ...view }
  return {
    engine,
    view: whole,
    flows: orderedFlows(engine, whole.sort, whole.filter),
    now_ms: NOW_MS,
    wall_ms: WALL_MS,
  }
}

export const textOf = (line: readonly { readonly text: string }[]): string => line.map(({ text }) => text).join('')
