/**
 * The tests that are too long for `npm test`: engines that are killed and stopped under load, full disks, hostile bodies, and
 * random flows under random bounds. Each is a program or a test file of its own; this runs them one after the other and ends with 1 when one failed.
 *
 *   npm run rounds              some minutes
 *   SEED=7 npm run rounds       the same random numbers again
 */
import { spawnSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..')
const SEED = process.env['SEED'] ?? String(randomInt(2 ** 31))

const ROUNDS: readonly { what: string; words: readonly string[]; environment?: Record<string, string> }[] = [
  { what: 'engines that are killed, full disks, hostile bodies', words: ['test/run.ts', 'test/faults/'] },
  { what: 'kills and stops of an engine', words: ['test/faults/resume-rounds.ts', '25', '2000'] },
  { what: 'kill -9 under a mixed load', words: ['test/faults/kill-rounds.ts', '12'] },
  {
    what: 'flows of any shape with any bound',
    words: ['--test', 'test/core/cascade/flow-control.fuzz.ts'],
    environment: { ROUNDS: '1500' },
  },
  {
    what: 'schedules of two threads with three preemptions',
    words: ['--test', 'test/core/cascade/interleave.test.ts'],
    environment: { DEEP: '1' },
  },
  {
    what: 'crashes at any mark',
    words: ['--test', 'test/server/flows/restart/resume.fuzz.ts'],
    environment: { ROUNDS: '25' },
  },
  {
    what: 'what Python makes of the description',
    words: ['--test', 'test/clients/python/description-rounds.ts'],
  },
  {
    what: 'what pyarrow reads of exports',
    words: ['--test', 'test/clients/python/parquet-rounds.ts'],
  },
]

const failed: string[] = []
for (const { what, words, environment } of ROUNDS) {
  const began_ms = performance.now()
  console.log(`${what}: node ${words.join(' ')} (SEED=${SEED})`)
  const { status } = spawnSync(process.execPath, words, {
    cwd: ROOT,
    env: { ...process.env, SEED, ...environment },
    stdio: 'inherit',
  })
  if (status !== 0) failed.push(what)
  console.log(
    `${what}: ${status === 0 ? 'held' : 'FAILED'} after ${((performance.now() - began_ms) / 1000).toFixed(0)} s`,
  )
}
if (failed.length > 0) console.error(`Failed: ${failed.join('; ')}. SEED=${SEED} npm run rounds`)
process.exitCode = failed.length > 0 ? 1 : 0
