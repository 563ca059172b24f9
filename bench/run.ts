/**
 * `npm run bench` lists the benches; `npm run bench -- <name>` runs one and prints a table; with `--json` the one JSON object
 * `{bench, rows}` is all that stands on stdout. Either way the object is also kept in `bench/results/<name>.json`.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Bench, MissingPart, table } from './kit.ts'
import { endPartners } from './partner.ts'

const NAMES = [
  'live-chain',
  'live-latency',
  'fan-out',
  'media',
  'panels',
  'history',
  'start',
  'growth',
  'runs',
  'cache',
  'calls',
  'runs-list',
  'logs',
  'export',
  'artifacts',
  'lines',
  'mqtt',
  'delays',
  'mcp',
]
const RESULTS = join(import.meta.dirname, 'results')
/** A bench that takes longer is broken: it is ended, with whatever it started. */
const BENCH_TIMEOUT_MS = 300_000

const words = process.argv.slice(2)
process.exit(
  await main(
    words.filter(word => !word.startsWith('--')),
    words.includes('--json'),
  ),
)

async function main(names: readonly string[], json: boolean): Promise<number> {
  const [name] = names
  if (name === undefined) return list()
  if (names.length > 1 || !NAMES.includes(name)) {
    console.error(`One bench at a time, one of: ${NAMES.join(', ')}.`)
    return 2
  }
  const watchdog = setTimeout(() => {
    console.error(`${name} ran past ${BENCH_TIMEOUT_MS / 1000} s and was ended.`)
    void endPartners().finally(() => process.exit(1))
  }, BENCH_TIMEOUT_MS)
  try {
    const bench = await load(name)
    process.stderr.write(`${name}\n`)
    const result = { bench: name, rows: await bench.run() }
    mkdirSync(RESULTS, { recursive: true })
    writeFileSync(join(RESULTS, `${name}.json`), `${JSON.stringify(result, null, 2)}\n`)
    console.log(json ? JSON.stringify(result) : table(bench, result.rows))
    return 0
  } catch (error) {
    if (error instanceof MissingPart) console.error(`${name}: missing: ${error.message}`)
    else console.error(error)
    return 1
  } finally {
    clearTimeout(watchdog)
    await endPartners()
  }
}

async function list(): Promise<number> {
  for (const name of NAMES) {
    const bench = await load(name)
    console.log(`${name.padEnd(14)}${bench.shows}`)
    console.log(`${''.padEnd(14)}floor: ${bench.floor}`)
    console.log(`${''.padEnd(14)}rival: ${bench.rival}`)
  }
  return 0
}

async function load(name: string): Promise<Bench> {
  const file = join(import.meta.dirname, `${name}.ts`)
  if (!existsSync(file)) throw new MissingPart(`bench/${name}.ts`)
  return ((await import(file)) as { default: Bench }).default
}
