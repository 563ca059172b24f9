/**
 * What one publish costs with 10, 100, 1,000 and 10,000 flows of one node: microseconds from handing over the first value to the last
 * body's end, a value to each flow in turn. Lower is better, and flat is the point.
 *
 * One process at a time. The floor is one thread: a lookup by name and the body, nothing else. Node-RED is one thread. Ours is the front
 * that publishes, a lane that runs the bodies, and the store thread.
 */
import { join } from 'node:path'
import { startOurs } from './engine.ts'
import { type Bench, compare, type Row, RUNS } from './kit.ts'
import { COUNTER, functionNode, startNodeRed, tab } from './node-red.ts'
import { Partner } from './partner.ts'

const SIZES = [10, 100, 1_000, 10_000]
const FLOOR_PUBLISHES = 10_000_000
/** Each of 10,000 flows runs some twenty times a run: what the first run of a flow costs is not what a publish costs. */
const OUR_PUBLISHES = 200_000
const RIVAL_PUBLISHES = 10_000

const bench: Bench = {
  name: 'growth',
  shows: 'cost of a publish with 10, 100, 1,000 and 10,000 flows',
  floor: 'a lookup by name and a call of the body, in one thread',
  rival: 'Node-RED 4 headless with as many flows',
  async run(): Promise<Row[]> {
    const rows: Row[] = []
    for (const flows of SIZES) {
      const floor = await Partner.start(join(import.meta.dirname, 'partners', 'floors/bodies-by-name.ts'))
      const { partner: ours } = await startOurs()
      await ours.ask('saveMany', { flows })
      const { partner: rival, targets } = await nodeRedWith(flows)
      const contestants = {
        floor: async () => {
          const { seconds } = await floor.ask<{ seconds: number }>('burst', { flows, publishes: FLOOR_PUBLISHES })
          return { [flows]: (seconds * 1e6) / FLOOR_PUBLISHES }
        },
        ours: async () => {
          const { seconds } = await ours.ask<{ seconds: number }>('spread', { flows, publishes: OUR_PUBLISHES })
          return { [flows]: (seconds * 1e6) / OUR_PUBLISHES }
        },
        rival: async () => {
          const { seconds } = await rival.ask<{ seconds: number }>('burst', { messages: RIVAL_PUBLISHES, targets })
          return { [flows]: (seconds * 1e6) / RIVAL_PUBLISHES }
        },
      }
      for (const contestant of Object.values(contestants)) await contestant()
      rows.push(...(await compare({ unit: 'us', runs: RUNS, ...contestants })))
      await Promise.all([floor.stop(), ours.stop(), rival.stop()])
    }
    return rows
  },
}
export default bench

async function nodeRedWith(flows: number): Promise<{ partner: Partner; targets: string[] }> {
  const ids = Array.from({ length: flows }, (_, flow) => flow)
  const { partner } = await startNodeRed([
    tab('tab'),
    functionNode('counter', COUNTER, []),
    ...ids.flatMap(id => [
      tab(`tab${id}`),
      functionNode(`body${id}`, 'msg.payload = msg.payload + 1; return msg;', ['counter'], `tab${id}`),
    ]),
  ])
  return { partner, targets: ids.map(id => `body${id}`) }
}
