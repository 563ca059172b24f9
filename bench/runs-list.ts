/**
 * `GET /runs?limit=50` with 1,000,000 runs stored, beside the same with 1,000: the middle of many requests, one after the
 * other. Lower is better; `ours_over_rival` is what growth costs.
 */
import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { RunningPartner } from './engine.ts'
import { type Bench, type Contestant, compare, median, progress, type Row, RUNS } from './kit.ts'
import { startWithRuns } from './stored-runs.ts'

const FEW = 1_000
const MANY = 1_000_000
const LARGE = 100
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
 * while whole runs are read one after the other, asked every millisecond (the floor: while nothing is read).
 */
export async function largeRows(few: RunningPartner): Promise<Row[]> {
  const large = await startWithRuns({ runs: LARGE, result_bytes: 1e6 })
  const page = 'page of 100, results of 1 MB'
  const pings = 'health beside reads, 99 of 100'
  const list = p50(large, '/runs?limit=100')
  const small = p50(few, '/runs?limit=100')
  const ask = asker(large)
  const ids = (JSON.parse(await ask('/runs?limit=100')) as { items: { id: string }[] }).items.map(({ id }) => id)
  const read = async (): Promise<void> => {
    for (const id of ids) await ask(`/runs/${id}`)
  }
  const pinged = async (beside: Promise<unknown>): Promise<number> => {
    const taken_ms: number[] = []
    const ping = asker(large)
    let isOver = false
    beside.finally(() => (isOver = true)).catch(() => {})
    while (!isOver) {
      const began_ms = performance.now()
      await ping('/utils/health/')
      taken_ms.push(performance.now() - began_ms)
      await sleep(1)
    }
    await beside
    return taken_ms.sort((a, b) => a - b)[Math.floor(taken_ms.length * 0.99)]!
  }
  const first = async (contestant: Contestant): Promise<number> => Object.values(await contestant())[0]!
  return compare({
    unit: 'ms',
    runs: RUNS,
    floor: async () => ({ [pings]: await pinged(sleep(1_000)) }),
    ours: async () => ({ [page]: await first(list), [pings]: await pinged(read()) }),
    rival: async () => ({ [page]: await first(small) }),
  })
}

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
