/**
 * The metrics of 10,000 runs, 10 curves of 100 points each, as csv over HTTP: ten million rows. `RSS` is by how much the memory of
 * the engine's process grew at most meanwhile; lower is better there.
 *
 * Floor: what better-sqlite3 reads of the same points in a table of rows, and JSON.stringify writes, in a bare loop that throws
 * the text away.
 */
import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { type Bench, compare, progress, type Row, RUNS } from './kit.ts'
import { Partner } from './partner.ts'
import { startWithRuns } from './stored-runs.ts'

const COUNT = 10_000
const METRICS = 10
const POINTS = 100
const ROWS = COUNT * METRICS * POINTS
const LOOK_MS = 20

const bench: Bench = {
  name: 'export',
  shows: `rows a second of a csv export, ${COUNT} runs x ${METRICS} metrics x ${POINTS} steps`,
  floor: 'better-sqlite3 reads the same rows and JSON.stringify writes them, in a bare loop',
  rival: 'none',
  async run(): Promise<Row[]> {
    progress(`writing ${ROWS} points ...`)
    const floor = await Partner.start(join(import.meta.dirname, 'partners', 'floors/rows-to-json.ts'))
    await floor.ask('open', { runs: COUNT, metrics: METRICS, points: POINTS })
    const { partner, url, token } = await startWithRuns({ runs: COUNT, metrics: METRICS, points: POINTS })
    return compare({
      unit: { csv: 'rows/s', RSS: 'MiB' },
      runs: RUNS,
      floor: async () => ({ csv: ROWS / (await floor.ask<{ seconds: number }>('pass')).seconds }),
      ours: async () => {
        const before = residentMib(partner.pid)
        let most = before
        const look = setInterval(() => (most = Math.max(most, residentMib(partner.pid))), LOOK_MS)
        const began_ms = performance.now()
        const lines = await linesOf(`${url}/runs/metrics/export`, token)
        const seconds = (performance.now() - began_ms) / 1000
        clearInterval(look)
        if (lines !== ROWS + 1) throw new RangeError(`the export has ${lines} lines, not ${ROWS + 1}`)
        return { csv: ROWS / seconds, RSS: Math.max(most, residentMib(partner.pid)) - before }
      },
    })
  },
}
export default bench

const LF = 10

function linesOf(url: string, token: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { headers: { authorization: `Bearer ${token}` } }, answer => {
      let lines = 0
      answer.on('data', (chunk: Buffer) => {
        for (let at = chunk.indexOf(LF); at !== -1; at = chunk.indexOf(LF, at + 1)) lines++
      })
      answer.on('end', () => resolve(lines))
      answer.on('error', reject)
    })
    asked.on('error', reject)
    asked.end()
  })
}

function residentMib(pid: number): number {
  const match = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))
  return Number(match?.[1] ?? 0) / 1024
}
