/**
 * `kill -9` under load, round after round over one data directory. By hand; the test run does a few rounds (kill.test.ts).
 *
 *   node test/faults/kill-rounds.ts 200        SEED=7 for the same again (Node 22: node_modules/.bin/node)
 *
 * Prints a line a round and the figures of all of them; ends with 1 at the first thing that does not hold, and leaves the
 * data directory for a look.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { limits } from '../../protocol/limits.ts'
import { randomFrom, seed } from '../kit/random.ts'
import { KillRounds, type RoundFigures } from './kill-round.ts'

const { positionals } = parseArgs({ allowPositionals: true })
const rounds = Number(positionals[0] ?? 200)
const data_dir = join(mkdtempSync(join(tmpdir(), 'svc-kill-rounds-')), 'data')
console.log(`${rounds} rounds, SEED=${seed}, ${data_dir}`)

const figures: RoundFigures[] = []
const killing = new KillRounds(data_dir, randomFrom(seed))
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, async () => {
    await killing.end()
    process.exit(130)
  })
}
try {
  for (let round = 0; round < rounds; round++) {
    const found = await killing.round()
    figures.push(found)
    console.log(line(found))
  }
} catch (error) {
  console.error(error)
  console.error(`round ${figures.length + 1} of ${rounds} did not hold: SEED=${seed}, ${data_dir}`)
  await killing.end()
  process.exit(1)
}
await killing.end()
console.log(summary(figures))
rmSync(join(data_dir, '..'), { recursive: true, force: true })

function line(one: RoundFigures): string {
  const ms = (value: number): string => `${value.toFixed(0)} ms`
  return [
    `round ${one.round}`,
    `load ${ms(one.load_ms)}`,
    `accepted ${one.accepted}`,
    `saves ${one.saves}`,
    `users ${one.users}`,
    `lost ${one.lost} (oldest ${ms(one.lost_age_ms)}; longest commit ${ms(one.commit_ms)})`,
    `not run ${one.not_run}`,
    `interrupted ${one.interrupted}`,
    `start ${ms(one.start_ms)}`,
  ].join(', ')
}

function summary(all: readonly RoundFigures[]): string {
  const sum = (of: (one: RoundFigures) => number): number => all.reduce((total, one) => total + of(one), 0)
  const at = (of: (one: RoundFigures) => number, q: number): string => {
    const sorted = all.map(of).sort((a, b) => a - b)
    return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))]!.toFixed(0)
  }
  const spread = (of: (one: RoundFigures) => number): string =>
    `p50 ${at(of, 0.5)}, p90 ${at(of, 0.9)}, most ${at(of, 1)}`
  return [
    `${all.length} rounds held: ${sum(one => one.accepted)} publishes accepted, ${sum(one => one.saves)} flows and ${sum(one => one.users)} users acknowledged and found`,
    `lost publishes: ${sum(one => one.lost)}, in ${all.filter(one => one.lost > 0).length} rounds`,
    `age of the oldest lost publish, ms: ${spread(one => one.lost_age_ms)}; over ${limits.GROUP_COMMIT_MS} in ${all.filter(one => one.lost_age_ms > limits.GROUP_COMMIT_MS).length} rounds`,
    `longest synced write of a round, ms: ${spread(one => one.commit_ms)}`,
    `start after the kill, ms: ${spread(one => one.start_ms)}`,
    `accepted but not run: ${sum(one => one.not_run)}; cascades recorded as interrupted: ${sum(one => one.interrupted)}`,
  ].join('\n')
}
