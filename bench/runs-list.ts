/**
 * `GET /runs?limit=50` with 1,000,000 runs stored, beside the same with 1,000: the middle of many requests, one after the
 * other. Lower is better; `ours_over_rival` is what growth costs.
 */
import { Agent, request } from 'node:http'
import type { RunningPartner } from './engine.ts'
import { type Bench, type Contestant, compare, median, progress, type Row, RUNS } from './kit.ts'
import { startWithRuns } from './stored-runs.ts'

const FEW = 1_000
const MANY = 1_000_000
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
    return compare({ unit: 'ms', runs: RUNS, ...contestants })
  },
}
export default bench

function p50({ url, token }: RunningPartner, path: string): Contestant {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const ask = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const asked = request(url + path, { agent, headers: { authorization: `Bearer ${token}` } }, answer => {
        let text = ''
        answer.setEncoding('utf8').on('data', chunk => (text += chunk))
        answer.on('end', () => {
          if (answer.statusCode === 200) resolve()
          else reject(new RangeError(`GET ${path} answered ${answer.statusCode}: ${text}`))
        })
      })
      asked.on('error', reject)
      asked.end()
    })
  return async () => {
    const taken_ms: number[] = []
    for (let times = 0; times < REQUESTS; times++) {
      const began_ms = performance.now()
      await ask()
      taken_ms.push(performance.now() - began_ms)
    }
    return { '50 newest': median(taken_ms) }
  }
}
