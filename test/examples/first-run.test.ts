import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { RealEngine } from '../kit/real-engine.ts'
import { ROOT } from '../kit/sources.ts'
import { eventually, Spawned } from '../kit/spawned.ts'

/** Readings of the machine stay below 110. */
const NO_READING = 150

test('the first run shows an alarm by itself, and raises one for the value that the README publishes', async t => {
  const engine = await RealEngine.start(t, { argv: ['--example'] })
  const alarms = async () => (await engine.history('machine.alarm')).items as { value: boolean; ts: string }[]
  await eventually('the first alarm is raised', async () => (await alarms()).some(({ value }) => value))
  await eventually('it is over', async () => !(await alarms()).at(-1)!.value)

  const readme = readFileSync(join(ROOT, 'README.md'), 'utf8')
  const words = /^\.\/svc (publish machine\.temperature \S+)/m.exec(readme)![1]!.split(' ')
  const published = Spawned.svc(t, { cwd: ROOT, argv: [...words, '--data-dir', engine.data_dir] })
  assert.equal((await published.ended).code, 0, published.stderr)
  const smoothed = await eventually('the published value is smoothed', async () =>
    (await engine.history('machine.smoothed')).items.find(
      point => ((point as { value: number }).value ?? 0) > NO_READING,
    ),
  )
  await eventually('an alarm is raised for it', async () =>
    (await alarms()).some(({ value, ts }) => value && ts >= (smoothed as { ts: string }).ts),
  )
})
