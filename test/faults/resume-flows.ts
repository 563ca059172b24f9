import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FlowDocument, FlowNode } from '../../protocol/nouns/flow-document.ts'
import { ROOT } from '../kit/sources.ts'

/** The flows of a resume round: everything that a restart has to go on with, over a real series. */

type Dtype = 'float' | 'int' | 'json'
type Port = [name: string, dtype: Dtype, message?: string]

function node(id: string, source: string, reads: Port[], makes: (Port | [...Port, number])[]): FlowNode {
  return {
    id,
    type: 'code',
    language: 'js',
    source,
    ports: {
      inputs: reads.map(([name, dtype, message]) => ({ name, dtype, ...(message === undefined ? {} : { message }) })),
      outputs: makes.map(([name, dtype, message, rate_hz]) => ({
        name,
        dtype,
        ...(message === undefined ? {} : { message }),
        ...(rate_hz === undefined ? {} : { rate_hz }),
      })),
    },
  }
}

const counted = (rest: string): string =>
  `export default (inputs, ctx) => { const n = ctx.state.n = (ctx.state.n ?? 0) + 1; ${rest} }`

export const resumeFlows: Readonly<Record<string, FlowDocument>> = {
  /** States, a join of two branches, and a generator whose items are counted one by one. */
  sensor: {
    inputs: [{ message: 'reading', dtype: 'float' }],
    nodes: [
      node(
        'smooth',
        counted(
          'const s = ctx.state.s = ctx.state.s === undefined ? inputs.reading : 0.9 * ctx.state.s + 0.1 * inputs.reading; return { smooth: s, number: n }',
        ),
        [['reading', 'float']],
        [
          ['smooth', 'float'],
          ['number', 'int'],
        ],
      ),
      node(
        'change',
        'export default ({ reading }, ctx) => { const change = reading - (ctx.state.last ?? reading); ctx.state.last = reading; return { change } }',
        [['reading', 'float']],
        [['change', 'float']],
      ),
      node(
        'join',
        counted(
          'ctx.state.sum = (ctx.state.sum ?? 0) + inputs.change; return { joined: [n, inputs.smooth, inputs.change, ctx.state.sum] }',
        ),
        [
          ['smooth', 'float'],
          ['change', 'float'],
        ],
        [['joined', 'json']],
      ),
      node(
        'parts',
        'export default function* ({ number }) { for (let part = 0; part < 3; part++) yield { part: number * 10 + part } }',
        [['number', 'int']],
        [['part', 'int']],
      ),
      node(
        'sum',
        counted('ctx.state.sum = (ctx.state.sum ?? 0) + inputs.part; return { parts: ctx.state.sum }'),
        [['part', 'int']],
        [['parts', 'int']],
      ),
    ],
  },
  /** Another flow that gets two messages of one emission, and a third one behind it. */
  alarm: {
    inputs: [],
    nodes: [
      node(
        'pair',
        counted(
          'const { smooth, number } = inputs; if (n !== number) ctx.state.gap ??= [n, number]; return { pair: [number, smooth], level: smooth > 90 ? 1 : 0 }',
        ),
        [
          ['smooth', 'float', 'sensor.smooth'],
          ['number', 'int', 'sensor.number'],
        ],
        [
          ['pair', 'json'],
          ['level', 'int'],
        ],
      ),
    ],
  },
  report: {
    inputs: [],
    nodes: [
      node(
        'raised',
        counted('ctx.state.raised = (ctx.state.raised ?? 0) + inputs.level; return { raised: ctx.state.raised }'),
        [['level', 'int', 'alarm.level']],
        [['raised', 'int']],
      ),
    ],
  },
  /** So slow that items wait for it when the engine goes. */
  slow: {
    inputs: [],
    nodes: [
      node(
        'late',
        counted(
          'const end = performance.now() + 2; while (performance.now() < end); return { late: [n, inputs.joined[0]] }',
        ),
        [['joined', 'json', 'sensor.joined']],
        [['late', 'json']],
      ),
    ],
  },
  /** What passes depends on time; the last value always does. */
  paced: {
    inputs: [],
    nodes: [
      node(
        'pace',
        counted('return { paced: n }'),
        [['joined', 'json', 'sensor.joined']],
        [['paced', 'int', 'paced', 40]],
      ),
      node('tail', counted('return { tail: [n, inputs.paced] }'), [['paced', 'int']], [['tail', 'json']]),
    ],
  },
  /** Values that wait for their time when the engine goes: each comes once, in order. */
  delayed: {
    inputs: [],
    nodes: [
      {
        id: 'wait',
        type: 'delay',
        settings: { seconds: 0.12 },
        ports: {
          inputs: [{ name: 'value', dtype: 'int', message: 'sensor.number' }],
          outputs: [{ name: 'value', dtype: 'int', message: 'waited' }],
        },
      },
      node('count', counted('return { counted: [n, inputs.waited] }'), [['waited', 'int']], [['counted', 'json']]),
    ],
  },
  /** Bodies that are away when the engine goes. */
  away: {
    inputs: [],
    nodes: [
      node(
        'later',
        'export default async ({ number }) => { await new Promise(resolve => setTimeout(resolve, 3)); return { came: number } }',
        [['number', 'int', 'sensor.number']],
        [['came', 'int']],
      ),
    ],
  },
}

/** Every value of these is the same as in an engine that was never killed; so many for each reading. */
export const exactMessages: Readonly<Record<string, number>> = {
  'sensor.reading': 1,
  'sensor.smooth': 1,
  'sensor.number': 1,
  'sensor.change': 1,
  'sensor.joined': 1,
  'sensor.part': 3,
  'sensor.parts': 3,
  'alarm.pair': 1,
  'alarm.level': 1,
  'report.raised': 1,
  'slow.late': 1,
  'delayed.waited': 1,
  'delayed.counted': 1,
}

/** The states of these, too. */
export const exactStates: readonly string[] = [
  'sensor.smooth',
  'sensor.change',
  'sensor.join',
  'sensor.sum',
  'alarm.pair',
  'report.raised',
  'slow.late',
  'delayed.count',
  'paced.pace',
]

/** The temperatures of a real machine. */
export function readings(): number[] {
  const path = join(ROOT, 'docs/examples/machine/data/machine_temperature_system_failure.csv')
  return readFileSync(path, 'utf8')
    .trim()
    .split('\n')
    .slice(1)
    .map(line => Number(line.split(',')[1]))
}
