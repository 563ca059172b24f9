import type { FlowDocument, FlowNode } from '../../protocol/nouns/flow-document.ts'

/**
 * The flows of a kill round: every way in which a value and a state reach the disk. They start from the latest, so what a round
 * finds after a start is what the kill left; what is queued again is for resume.test.ts.
 */

type Port = [name: string, dtype: 'float' | 'int' | 'json', message?: string]

function node(id: string, source: string, reads: Port[], makes: Port[], more: Partial<FlowNode> = {}): FlowNode {
  const port = ([name, dtype, message]: Port) => ({ name, dtype, ...(message === undefined ? {} : { message }) })
  return {
    id,
    type: 'code',
    language: 'js',
    source,
    ports: { inputs: reads.map(port), outputs: makes.map(port) },
    ...more,
  }
}

const forward = 'export default ({ x }) => ({ y: x })'

const flows: Readonly<Record<string, FlowDocument>> = {
  /** Its output is its state: version, value and state are the same number for ever. */
  count: {
    inputs: [{ message: 'x', dtype: 'int' }],
    nodes: [
      node(
        'counter',
        'export default (inputs, ctx) => { ctx.state.n = (ctx.state.n ?? 0) + 1; return { n: ctx.state.n } }',
        [['x', 'int']],
        [['n', 'int']],
      ),
    ],
  },
  /** The same in a call slot, which answers value and state apart from each other. */
  slot: {
    inputs: [{ message: 'x', dtype: 'int' }],
    nodes: [
      node(
        'counter',
        'export default (inputs, ctx) => { ctx.state.n = (ctx.state.n ?? 0) + 1; return { n: ctx.state.n } }',
        [['x', 'int']],
        [['n', 'int']],
        { timeout: 60 },
      ),
    ],
  },
  /** Child cascades. */
  reader: {
    inputs: [],
    nodes: [node('again', 'export default ({ n }) => ({ m: n })', [['n', 'int', 'count.n']], [['m', 'int']])],
  },
  chain: {
    inputs: [{ message: 'x', dtype: 'float' }],
    nodes: [
      node('a', forward, [['x', 'float']], [['y', 'float', 'ab']]),
      node('b', forward, [['x', 'float', 'ab']], [['y', 'float', 'bc']]),
      node(
        'c',
        'export default ({ x }, ctx) => { ctx.state.sum = x; return { y: x } }',
        [['x', 'float', 'bc']],
        [['y', 'float']],
      ),
    ],
  },
  /** Values that travel as slabs. */
  texts: {
    inputs: [{ message: 't', dtype: 'json' }],
    nodes: [node('echo', 'export default ({ t }) => ({ e: t })', [['t', 'json']], [['e', 'json']])],
  },
  /** Cascades in flight when the engine goes. */
  away: {
    inputs: [{ message: 'x', dtype: 'int' }],
    nodes: [
      node(
        'later',
        'export default async ({ x }) => { await new Promise(resolve => setTimeout(resolve, 3)); return { y: x } }',
        [['x', 'int']],
        [['y', 'int']],
      ),
      node(
        'longer',
        'export default async ({ x }) => { await new Promise(resolve => setTimeout(resolve, 60000)) }',
        [['x', 'int']],
        [],
      ),
    ],
  },
  /** Values that are held back, from a source that the engine drives itself. */
  sprint: {
    inputs: [],
    nodes: [
      {
        id: 'tick',
        type: 'inject',
        settings: { every_s: 0.02, value: 1 },
        ports: { inputs: [], outputs: [{ name: 'out', dtype: 'int', message: 'tick' }] },
      },
      node(
        'steps',
        'export default function* (inputs, ctx) { for (let i = 0; i < 20; i++) { ctx.state.g = (ctx.state.g ?? 0) + 1; yield { g: ctx.state.g } } }',
        [['tick', 'int']],
        [['g', 'int']],
      ),
      {
        ...node('pace', 'export default ({ g }) => ({ p: g })', [['g', 'int']], []),
        ports: {
          inputs: [{ name: 'g', dtype: 'int' }],
          outputs: [{ name: 'p', dtype: 'int', rate_hz: 40 }],
        },
      },
    ],
  },
}

/** Messages whose versions must have no hole. */
export const killMessages = [
  'count.x',
  'count.n',
  'slot.x',
  'slot.n',
  'reader.m',
  'chain.x',
  'chain.ab',
  'chain.bc',
  'chain.y',
  'texts.t',
  'texts.e',
  'away.x',
  'away.y',
  'sprint.tick',
  'sprint.g',
  'sprint.p',
] as const

/** A flow that is saved over and over: what was acknowledged stands in its document. */
export const savedFlow = (number: number): FlowDocument => ({
  inputs: [{ message: 'x', dtype: 'float' }],
  nodes: [
    node('only', `export default ({ x }) => ({ y: x + ${number} })`, [['x', 'float', 'chain.y']], [['y', 'float']]),
  ],
})

export const killFlows: Readonly<Record<string, FlowDocument>> = Object.fromEntries(
  Object.entries(flows).map(([name, document]) => [name, { ...document, on_restart: 'latest' }]),
)
