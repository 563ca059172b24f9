/**
 * Ends of an engine under load, round after round over one data directory, compared value by value with an engine that was
 * never ended. By hand; the test run does a few rounds (resume.test.ts).
 *
 *   node test/faults/resume-rounds.ts 300              SEED=7 for the same again (Node 22: node_modules/.bin/node)
 *   node test/faults/resume-rounds.ts 50 4000 8000     4,000 readings, from the 8,000th on
 *
 * Prints a line a round and the figures of all of them; ends with 1 at the first thing that does not hold, and leaves the
 * data directory for a look.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { randomFrom, seed } from '../kit/random.ts'
import { readings } from './resume-flows.ts'
import { type ResumeFigures, ResumeRounds, uninterrupted } from './resume-round.ts'

const { positionals } = parseArgs({ allowPositionals: true })
const rounds = Number(positionals[0] ?? 300)
const from = Number(positionals[2] ?? 0)
const series = readings().slice(from, from + Number(positionals[1] ?? Number.POSITIVE_INFINITY))
const folder = mkdtempSync(join(tmpdir(), 'svc-resume-rounds-'))
console.log(`${rounds} rounds over ${series.length} readings, SEED=${seed}, ${folder}`)

const expected = await uninterrupted(join(folder, 'uninterrupted'), series)
console.log('the engine that nothing happens to has run')
const resuming = new ResumeRounds(join(folder, 'data'), randomFrom(seed), series, expected)
const figures: ResumeFigures[] = []
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, async () => {
    await resuming.end()
    process.exit(130)
  })
}
try {
  for (let left = rounds; left > 0; left--) {
    const found = await resuming.round(left)
    figures.push(found)
    const { round, end, readings, waiting, unanswered, start_ms } = found
    const ms = start_ms.toFixed(0)
    console.log(
      `round ${round}: ${readings} readings, ${waiting} of them waited, start ${ms} ms; ${end}, ${unanswered} unanswered`,
    )
  }
  const { interrupted, passed } = await resuming.finish()
  const killed = figures.filter(one => one.end === 'killed').length
  const waited = figures.reduce((sum, one) => sum + one.waiting, 0)
  const most = Math.max(...figures.map(one => one.waiting))
  console.log(
    [
      `${rounds} rounds held (${killed} killed, ${rounds - killed} stopped): values, versions, states and histories are those of an engine that was never ended`,
      `items of the slow flow that waited at a start: ${waited} in all, ${most} at once`,
      `unanswered publishes: ${figures.reduce((sum, one) => sum + one.unanswered, 0)}`,
      `bodies away: ${interrupted} of ${series.length} cascades interrupted, the others have run once`,
      `passed the rate limit: ${passed} of ${series.length}, the last one among them`,
    ].join('\n'),
  )
} catch (error) {
  console.error(error)
  console.error(`round ${figures.length + 1} of ${rounds} did not hold: SEED=${seed}, ${folder}`)
  await resuming.end()
  process.exit(1)
}
rmSync(folder, { recursive: true, force: true })
