import { join } from 'node:path'
import { test } from 'node:test'
import { randomFrom, seed } from '../kit/random.ts'
import { directoryFor } from '../kit/spawned.ts'
import { readings } from './resume-flows.ts'
import { ResumeRounds, uninterrupted } from './resume-round.ts'

const ROUNDS = process.env['LONG'] === undefined ? 4 : 300
const READINGS = process.env['LONG'] === undefined ? 400 : Number.POSITIVE_INFINITY

test(`engines that are killed and stopped under load make of a series what one that was never ended makes of it (SEED=${seed})`, async t => {
  const folder = directoryFor(t)
  const series = readings().slice(0, READINGS)
  const expected = await uninterrupted(join(folder, 'uninterrupted'), series)
  const resuming = new ResumeRounds(join(folder, 'data'), randomFrom(seed), series, expected)
  try {
    for (let left = ROUNDS; left > 0; left--) await resuming.round(left)
    const { interrupted, passed } = await resuming.finish()
    t.diagnostic(`${interrupted} interrupted, ${passed} passed the rate limit`)
  } finally {
    await resuming.end()
  }
})
