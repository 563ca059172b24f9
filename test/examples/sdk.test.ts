import assert from 'node:assert/strict'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { withoutGit } from '../kit/git.ts'
import { sdkBlocks } from '../kit/sdk-page.ts'
import { ROOT } from '../kit/sources.ts'
import { UserRepository } from '../kit/user-repository.ts'

const WINDOW = 256
/** A machine that runs well, then one whose bearing strikes at every turn. */
const turning = (at: number): number => Math.sin(at / 5)
const striking = (at: number): number => turning(at) + (at % 64 === 0 ? 9 : 0)
const samples = [turning, striking].flatMap(sound => Array.from({ length: WINDOW }, (_, at) => sound(at)))

test('the example repository and the flows of the page are synced, and do what they say', {
  skip: withoutGit,
}, async t => {
  const repository = new UserRepository(t)
  cpSync(join(ROOT, 'docs/examples/sdk'), repository.root, { recursive: true })
  repository.write('.gitignore', 'node_modules\n.svc\n')
  for (const { path, source } of sdkBlocks()) repository.write(path, source)
  repository.commit()
  const engine = await repository.serve()
  const { stdout, stderr } = await repository.sync()
  assert.equal(stderr, '')
  assert.deepEqual(stdout.trim().split('\n'), [
    'bearing  version 1: restarted figures, shaking, striking',
    'boiler  version 1: restarted smooth, slow',
  ])

  const run = await repository.svc('run', 'bearing', '-p', `samples=${JSON.stringify(samples)}`, '--json')
  assert.equal(run.code, 0, run.stderr)
  const { result, code_digest } = JSON.parse(run.stdout)
  assert.equal(result.strikes, true)
  assert.ok(!('shakes' in result), JSON.stringify(result))
  assert.match(code_digest, /^[0-9a-f]{64}$/)

  for (const celsius of [10, 20, 30]) await engine.publish('boiler.celsius', celsius)
  await engine.value('boiler.smoothed', 20)
  await engine.value('boiler.trend', 20)
})
