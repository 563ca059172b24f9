/**
 * `GET /runs?limit=50` with 1,000,000 runs stored, beside the same with 1,000: the middle of many requests, one after the
 * other. Lower is better; `ours_over_rival` is what growth costs.
 */
import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { RunningPartner } from './engine.ts'
import { type Bench, type Contestant, compare, median, progress, type Row, RUNS } from './kit.ts'
import { Partner } from './partner.ts'
import { startWithRuns } from './stored-runs.ts'

const FEW = 1_000
const MANY = 1_000_000
const LARGE = [
  { runs: 100, result_bytes: 1e6, of: '1 MB' },
  { runs: 45, result_bytes: 8 * 2 ** 20, of: '8 MiB' },
]
const REQUESTS = 200

const bench: Bench = {
  name: 'runs-list',
  shows: 'GET /runs?limit=50 with 1,000,000 runs stored',
  floor: 'GET /utils/health/ of the same engine',
  rival: 'the same request with 1,000 runs stored',
  async run(): Promise<Row[]> {
    progress(`writing ${MANY} runs ...`)
    const few = await startWithRuns({ runs: FEW })
    const many = await startWithRuns({ runs: MANY })
    const contestants = {
      floor: p50(many, '/utils/health/'),
      ours: p50(many, '/runs?limit=50'),
      rival: p50(few, '/runs?limit=50'),
    }
    for (const contestant of Object.values(contestants)) await contestant()
    return [...(await compare({ unit: 'ms', runs: RUNS, ...contestants })), ...(await largeRows(few))]
  },
}
export default bench

/**
 * 100 runs whose results are 1 MB each: a page of all of them beside one of 100 small runs, and how long a health check waits at most
 * while whole runs are read one after the other, asked every millisecond by a process of its own (the floor: while nothing is read).
 * 45 runs whose results are 8 MiB each: the same, and by how much the memory of the engine grows.
 */
export async function largeRows(few: RunningPartner): Promise<Row[]> {
  const pinger = await Partner.start(join(import.meta.dirname, 'partners/loads/pings.ts'))
  const rows: Row[] = []
  const small = p50(few, '/runs?limit=100')
  for (const { runs, result_bytes, of } of LARGE) {
    const large = await startWithRuns({ runs, result_bytes })
    const page = `page of ${runs}, results of ${of}`
    const pings = `health beside reads of ${of}, 99 of 100`
    const grown = `memory grown by reads of ${of}`
    const list = p50(large, `/runs?limit=${runs}`)
    const ask = asker(large)
    const ids = (JSON.parse(await ask(`/runs?limit=${runs}`)) as { items: { id: string }[] }).items.map(({ id }) => id)
    const read = async (): Promise<void> => {
      for (const id of ids) await ask(`/runs/${id}`)
    }
    const pinged = async (beside: () => Promise<unknown>): Promise<number> => {
      await pinger.ask('begin', { url: `${large.url}/utils/health/` })
      await beside()
      return (await pinger.ask<{ p99_ms: number }>('end')).p99_ms
    }
    const first = async (contestant: Contestant): Promise<number> => Object.values(await contestant())[0]!
    rows.push(
      ...(await compare({
        unit: { [page]: 'ms', [pings]: 'ms', [grown]: 'MiB' },
        runs: RUNS,
        floor: async () => ({ [pings]: await pinged(() => sleep(1_000)) }),
        ours: async () => {
          const before = residentMib(large.partner.pid)
          const times = { [page]: await first(list), [pings]: await pinged(read) }
          return { ...times, [grown]: residentMib(large.partner.pid) - before }
        },
        rival: async () => ({ [page]: await first(small) }),
      })),
    )
    await large.partner.stop()
  }
  await pinger.stop()
  return rows
}

const residentMib = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024

/** GETs over a connection of its own; answers the text. */
function asker({ url, token }: RunningPartner): (path: string) => Promise<string> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  return path =>
    new Promise((resolve, reject) => {
      const asked = request(url + path, { agent, headers: { authorization: `Bearer ${token}` } }, answer => {
        let text = ''
        answer.setEncoding('utf8').on('data', chunk => (text += chunk))
        answer.on('end', () => {
          if (answer.statusCode === 200) resolve(text)
          else reject(new RangeError(`GET ${path} answered ${answer.statusCode}: ${text}`))
        })
      })
      asked.on('error', reject)
      asked.end()
    })
}

function p50(partner: RunningPartner, path: string): Contestant {
  const ask = asker(partner)
  return async () => {
    const taken_ms: number[] = []
    for (let times = 0; times < REQUESTS; times++) {
      const began_ms = performance.now()
      await ask(path)
      taken_ms.push(performance.now() - began_ms)
    }
    return { '50 newest': median(taken_ms) }
  }
}
