/**
 * Values a second of line protocol over TCP, four fields a line, into a code node that reads all four.
 *
 * The sender is a process of its own. The floor parses and calls the body in one thread and keeps nothing; ours publishes each field with a version
 * and a history, runs one cascade a line on one lane, and holds the sender back when it falls behind.
 */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FlowDocument } from '../protocol/nouns/flow-document.ts'
import { startOurs } from './engine.ts'
import { type Bench, type Contestant, compare, type Row, RUNS } from './kit.ts'
import { Partner } from './partner.ts'

const FIELDS = 4
const LINES = 200_000
/** Runs that do not count: V8 compiles the path through both threads of ours anew until the third or fourth. */
const WARM_UP_RUNS = 4
const partnerFile = (name: string): string => join(import.meta.dirname, 'partners', `${name}.ts`)

const bench: Bench = {
  name: 'lines',
  shows: 'values a second of line protocol over TCP, 4 fields a line, into one code node',
  floor: 'a bare loop: lines cut and parsed, the body called, nothing kept',
  rival: 'none',
  async run(): Promise<Row[]> {
    const load = await Partner.start(partnerFile('loads/line-load'))
    const bare = await Partner.start(partnerFile('floors/bare-lines'))
    const { port } = await bare.ask<{ port: number }>('listen')
    const { partner: engine } = await startOurs()
    await engine.ask('save', { name: 'lines', document: DOCUMENT })
    const ours_port = await listening(engine)
    const contestants = {
      floor: contestant(load, port, async () => (await bare.ask<{ lines: number }>('taken')).lines),
      ours: contestant(
        load,
        ours_port,
        async () => (await engine.ask<{ version: number }>('version', { message: 'lines.sum' })).version,
      ),
    }
    for (let run = 0; run < WARM_UP_RUNS; run++) for (const one of Object.values(contestants)) await one()
    return compare({ unit: 'values/s', runs: RUNS, ...contestants })
  },
}
export default bench

const PORTS = ['temperature', 'pressure', 'speed', 'load'] as const
const DOCUMENT: FlowDocument = {
  nodes: [
    {
      id: 'lines',
      type: 'lines',
      settings: { listen: 'tcp://127.0.0.1:0', format: 'influx' },
      ports: { outputs: PORTS.map(name => ({ name, dtype: 'float' as const })) },
    },
    {
      id: 'sum',
      type: 'code',
      language: 'js',
      source:
        'export default ({ temperature, pressure, speed, load }) => ({ sum: temperature + pressure + speed + load })',
      ports: {
        inputs: PORTS.map(name => ({ name, dtype: 'float' as const })),
        outputs: [{ name: 'sum', dtype: 'float' }],
      },
    },
  ],
}

async function listening(engine: Partner): Promise<number> {
  for (;;) {
    const { gauges } = await engine.ask<{ gauges: Record<string, number> }>('gauges', { node: 'lines.lines' })
    if (gauges['port'] !== undefined) return gauges['port']
    await sleep(20)
  }
}

const contestant =
  (load: Partner, port: number, taken: () => Promise<number>): Contestant =>
  async () => {
    const before = await taken()
    const began_ms = performance.now()
    await load.ask('send', { port, lines: LINES })
    while ((await taken()) < before + LINES) await sleep(1)
    return { 'four fields a line': (LINES * FIELDS) / ((performance.now() - began_ms) / 1000) }
  }
