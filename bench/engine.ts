import { join } from 'node:path'
import type { FlowDocument, FlowNode } from '../protocol/nouns/flow-document.ts'
import { Partner } from './partner.ts'

/** Our engine as a contestant: how it is started (`partners/ours/engine.ts`), and the flows that it runs. */

export interface RunningPartner {
  partner: Partner
  url: string
  token: string
}

/** On a fresh data directory that goes with it, unless one is given. */
export async function startOurs(lanes = 1, data_dir?: string): Promise<RunningPartner> {
  const partner = await Partner.start(join(import.meta.dirname, 'partners', 'ours/engine.ts'))
  return { partner, ...(await partner.ask<{ url: string; token: string }>('start', { lanes, data_dir })) }
}

/** `first -> body0 -> body1 ... -> last`: nodes of one float input and one float output each. */
export function chainNodes(bodies: number, first: string, source: string): FlowNode[] {
  const name = (position: number): string => (position === bodies ? 'last' : position === 0 ? first : `x${position}`)
  return Array.from({ length: bodies }, (_, position) => ({
    id: `body${position}`,
    type: 'code',
    language: 'js' as const,
    source,
    ports: {
      inputs: [{ name: 'x', dtype: 'float' as const, message: name(position) }],
      outputs: [{ name: 'x', dtype: 'float' as const, message: name(position + 1) }],
    },
  }))
}

/** A generator that yields `count` numbers, and the chain behind it. */
export function generatedChain(bodies: number): FlowDocument {
  return {
    inputs: [{ message: 'count', dtype: 'int' }],
    nodes: [
      {
        id: 'source',
        type: 'code',
        language: 'js',
        source:
          'export default function* ({ count }) { for (let sent = 0; sent < count; sent++) yield { first: sent } }',
        ports: { inputs: [{ name: 'count', dtype: 'int' }], outputs: [{ name: 'first', dtype: 'float' }] },
      },
      ...chainNodes(bodies, 'first', 'export default ({ x }) => ({ x: x + 1 })'),
    ],
  }
}

/** What comes in at `first` goes through three nodes to `last`. */
export const passedThrough = (bodies: number): FlowDocument => ({
  inputs: [{ message: 'first', dtype: 'float' }],
  nodes: chainNodes(bodies, 'first', 'export default ({ x }) => ({ x })'),
})
