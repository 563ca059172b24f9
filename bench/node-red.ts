import { join } from 'node:path'
import { rivalFolder, rivalVersion } from './kit.ts'
import { Partner } from './partner.ts'

/** Node-RED as a rival: how its flows are written, and how it is started (`partners/rivals/node-red.ts`). */

export interface FlowEntry {
  id: string
  type: string
  [setting: string]: unknown
}

/** The function node that counts: a burst is over when it has seen what was sent. */
export const COUNTER = "const bench = global.get('bench'); if (++bench.seen === bench.wanted) bench.done();"
/** The function node that feeds: a loop, as a user would write it. */
export const SOURCE = 'for (let sent = 0; sent < msg.payload; sent++) node.send({ payload: sent });'

export const tab = (id: string): FlowEntry => ({ id, type: 'tab', label: id, disabled: false })

export const functionNode = (id: string, func: string, wires: string[], on = 'tab'): FlowEntry => ({
  id,
  type: 'function',
  z: on,
  name: id,
  func,
  outputs: wires.length === 0 ? 0 : 1,
  wires: wires.length === 0 ? [] : [wires],
  x: 0,
  y: 0,
})

export interface NodeRed {
  partner: Partner
  version: string
  port: number
  ready_ms: number
}

/** Installs it where needed and starts it with a flow. */
export async function startNodeRed(flow: readonly FlowEntry[]): Promise<NodeRed> {
  const folder = await rivalFolder('node-red')
  const partner = await Partner.start(join(import.meta.dirname, 'partners', 'rivals/node-red.ts'))
  const { port, ready_ms } = await partner.ask<{ port: number; ready_ms: number }>('load', { folder, flow })
  return { partner, version: rivalVersion(folder, 'node-red'), port, ready_ms }
}
