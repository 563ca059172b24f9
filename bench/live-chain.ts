/**
 * Bodies a second through a chain of `code` nodes, `({ x }) => ({ x: x + 1 })` each.
 *
 * Every contestant has a process of its own and runs alone, in turn. On two cores: the floor has a producer and a loop
 * thread; ours has one lane thread that does all the bodies, beside the store thread that keeps the history and the front; Node-RED has
 * its one thread, with a core to spare for its garbage collector.
 */
import { join } from 'node:path'
import { generatedChain, startOurs } from './engine.ts'
import { type Bench, type Contestant, compare, median, type Row, RUNS } from './kit.ts'
import { COUNTER, functionNode, SOURCE, startNodeRed, tab } from './node-red.ts'
import { Partner } from './partner.ts'

const CHAINS = [1, 5, 10]
/** Bodies a run, some seconds' worth of each contestant. */
const FLOOR_BODIES = 10_000_000
const OUR_BODIES = 3_000_000
const RIVAL_BODIES = 150_000

const bench: Bench = {
  name: 'live-chain',
  shows: 'bodies a second through chains of 1, 5 and 10 code nodes, one lane thread',
  floor: 'a bare ring loop: records taken, bodies called, outputs checked, a record written per result',
  rival: 'Node-RED 4 headless, the same chain of function nodes',
  async run(): Promise<Row[]> {
    const rows: Row[] = []
    for (const bodies of CHAINS) {
      const floor = await Partner.start(join(import.meta.dirname, 'partners', 'floors/ring-loop.ts'))
      const { partner: ours } = await startOurs()
      await ours.ask('save', { name: 'chain', document: generatedChain(bodies) })
      const { partner: rival } = await startNodeRed(nodeRedChain(bodies))
      const contestants = {
        floor: floorOf(floor, bodies),
        ours: oursOf(ours, bodies),
        rival: rivalOf(rival, bodies),
      }
      for (const contestant of Object.values(contestants)) await contestant()
      rows.push(...(await compare({ unit: 'bodies/s', runs: RUNS, ...contestants })))
      await Promise.all([floor.stop(), ours.stop(), rival.stop()])
    }
    return rows
  },
}
export default bench

const floorOf =
  (partner: Partner, bodies: number): Contestant =>
  async () => {
    const records = FLOOR_BODIES / bodies
    const { seconds } = await partner.ask<{ seconds: number }>('pass', { bodies, records })
    return { [bodies]: (records * bodies) / seconds }
  }

const oursOf =
  (partner: Partner, bodies: number): Contestant =>
  async () => {
    const count = OUR_BODIES / bodies
    const { seconds } = await partner.ask<{ seconds: number }>('burst', { flow: 'chain', count })
    return { [bodies]: (count * bodies) / seconds }
  }

/** Three bursts a run and their median: what a burst leaves to the garbage collector falls on the next one. */
const rivalOf =
  (partner: Partner, bodies: number): Contestant =>
  async () => {
    const messages = RIVAL_BODIES / bodies / 3
    const rates: number[] = []
    for (let burst = 0; burst < 3; burst++) {
      const { seconds } = await partner.ask<{ seconds: number }>('burst', { messages })
      rates.push((messages * bodies) / seconds)
    }
    return { [bodies]: median(rates) }
  }

function nodeRedChain(bodies: number) {
  const name = (position: number): string => (position < bodies ? `body${position}` : 'counter')
  return [
    tab('tab'),
    functionNode('source', SOURCE, [name(0)]),
    ...Array.from({ length: bodies }, (_, position) =>
      functionNode(name(position), 'msg.payload = msg.payload + 1; return msg;', [name(position + 1)]),
    ),
    functionNode('counter', COUNTER, []),
  ]
}
