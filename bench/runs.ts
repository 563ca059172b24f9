/**
 * Durable runs a second: a flow of three trivial bodies, four runs at once, created over HTTP by eight connections, each of
 * which waits for its acknowledgement. From the first request until the last run has ended.
 *
 * The stage cache is off: every body runs. Floor: what a run writes, as two synced group commits of eight through
 * better-sqlite3 alone. The rival runs its jobs in the process that adds them, without HTTP.
 */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { passedThrough, startOurs } from './engine.ts'
import { type Bench, type Contestant, compare, MissingPart, type Row, RUNS, rivalFolder } from './kit.ts'
import { Partner } from './partner.ts'

const COUNT = 800
/** What runs a while is measured: code is optimized after some thousand runs, ours and the rival's. */
const WARM_UPS = 8
const FLOOR_COUNT = 2_000
const CONNECTIONS = 8
/** Measured: bytes of the rows of one run of this flow when it was created, and of those that its end adds. */
const CREATED_BYTES = 700
const ENDED_BYTES = 1_900
const partnerFile = (name: string): string => join(import.meta.dirname, 'partners', `${name}.ts`)

const bench: Bench = {
  name: 'runs',
  shows: 'durable runs a second of a 3-node flow, 4 at once, created by 8 connections, each acknowledgement synced',
  floor: 'synced group commits of the same bytes through better-sqlite3',
  rival: 'BullMQ on Redis with appendfsync always, a flow of 3 jobs',
  async run(): Promise<Row[]> {
    if (spawnSync('redis-server', ['--version']).status !== 0)
      throw new MissingPart('redis-server (on Debian: apt-get install redis-server)')
    const folder = await rivalFolder('bullmq')
    const rival = await Partner.start(partnerFile('rivals/bullmq'))
    await rival.ask('load', { folder })
    const floor = await Partner.start(partnerFile('floors/durable-runs'))
    const load = await Partner.start(partnerFile('loads/run-load'))
    const ours = await startOurs(1)
    const document = passedThrough(3)
    const uncached = { ...document, nodes: document.nodes.map(node => ({ ...node, cache: false })) }
    uncached.inputs = [{ message: 'x', dtype: 'float' }]
    const [first] = uncached.nodes
    first!.ports = { ...first!.ports, inputs: [{ name: 'x', dtype: 'float', message: 'x' }] }
    await ours.partner.ask('save', { name: 'three', document: uncached })
    const contestants: Record<'floor' | 'ours' | 'rival', Contestant> = {
      floor: async () => {
        const sizes = { group: CONNECTIONS, created_bytes: CREATED_BYTES, ended_bytes: ENDED_BYTES }
        const { seconds } = await floor.ask<{ seconds: number }>('pass', { runs: FLOOR_COUNT, ...sizes })
        return { '3 nodes': FLOOR_COUNT / seconds }
      },
      ours: async () => {
        const { url, token } = ours
        const asked = { url, token, flow: 'three', runs: COUNT, connections: CONNECTIONS }
        const { seconds } = await load.ask<{ seconds: number }>('pass', asked)
        return { '3 nodes': COUNT / seconds }
      },
      rival: async () => {
        const { seconds } = await rival.ask<{ seconds: number }>('pass', { runs: COUNT, connections: CONNECTIONS })
        return { '3 nodes': COUNT / seconds }
      },
    }
    for (let times = 0; times < WARM_UPS; times++)
      for (const contestant of Object.values(contestants)) await contestant()
    return compare({ unit: 'runs/s', runs: RUNS, ...contestants })
  },
}
export default bench
