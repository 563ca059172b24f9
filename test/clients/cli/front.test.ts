import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { ADA, boiler, serveFront } from '../../kit/served-front.ts'
import { directoryFor, Spawned } from '../../kit/spawned.ts'

/** `svc` against the real front, as a signed-in user: what the routes answer is what the commands read. */
async function signedIn(t: TestContext) {
  const served = await serveFront()
  t.after(() => served.close())
  const cwd = directoryFor(t)
  const svc = async (argv: string[], stdin = '') => {
    const run = Spawned.svc(t, { argv, cwd, environment: {} })
    run.child.stdin!.end(stdin)
    const { code } = await run.ended
    return { code, stdout: run.stdout, stderr: run.stderr }
  }
  const login = await svc(['login', served.url, '--username', ADA.name, '--password-file', '-'], ADA.password)
  assert.equal(login.code, 0, login.stderr)
  return { svc, cwd, served }
}

test('a user signs in, saves a flow, reads it back, changes it and restores it', async t => {
  const { svc, cwd } = await signedIn(t)
  writeFileSync(join(cwd, 'boiler.json'), JSON.stringify(boiler))
  const put = await svc(['flows', 'put', 'boiler', 'boiler.json', '--message', 'first'])
  assert.match(put.stdout, /^boiler version 1, commit [0-9a-f]{64}\n/, put.stderr)
  const list = await svc(['flows', 'list'])
  assert.match(list.stdout, /^boiler +1 +1 +yes +0 +2026-01-01 00:00:00 +ada$/m)
  const get = await svc(['flows', 'get', 'boiler'])
  assert.deepEqual(JSON.parse(get.stdout), boiler)

  const changed = JSON.stringify({ ...JSON.parse(get.stdout), inputs: [{ message: 'raw', dtype: 'int' }] })
  assert.equal((await svc(['flows', 'put', 'boiler', '-', '--base-version', '1'], changed)).code, 0)
  const stale = await svc(['flows', 'put', 'boiler', '-', '--base-version', '1'], changed)
  assert.equal(stale.code, 3)
  assert.match(stale.stderr, /at version 2/)

  const history = JSON.parse((await svc(['flows', 'history', 'boiler', '--json'])).stdout)
  assert.equal(history.count, 2)
  const first = history.items[1]
  assert.equal(first.message, 'first')
  const detail = await svc(['flows', 'history', 'boiler', first.commit.slice(0, 10)])
  assert.ok(detail.stdout.includes(first.commit), detail.stderr)
  const restored = await svc(['flows', 'restore', 'boiler', first.commit.slice(0, 10)])
  assert.match(restored.stdout, /^boiler version 3/, restored.stderr)
  assert.deepEqual(JSON.parse((await svc(['flows', 'get', 'boiler'])).stdout), boiler)
})

test('a user publishes, and reads messages and the state of the engine', async t => {
  const { svc } = await signedIn(t)
  await svc(['flows', 'put', 'boiler', '-'], JSON.stringify(boiler))
  assert.equal((await svc(['publish', 'boiler.raw', '20.5'])).stdout, 'boiler.raw version 1\n')
  assert.equal((await svc(['messages', 'get', 'boiler.raw'])).stdout, '20.5\n')
  assert.match((await svc(['messages', 'list', 'boiler'])).stdout, /^boiler\.raw +float +1 .* 20\.5$/m)
  assert.match((await svc(['status'])).stdout, /^engine +0\.1\.5 at http.*\n.*\n *link +never paired$/m)
  assert.equal(JSON.parse((await svc(['status', '--json'])).stdout).version, '0.1.5')
})

test('what the front refuses ends with 3 and says what to do', async t => {
  const { svc } = await signedIn(t)
  await svc(['flows', 'put', 'boiler', '-'], JSON.stringify(boiler))
  const refused: [argv: string[], stdin: string, says: RegExp][] = [
    [['flows', 'get', 'nobody'], '', /nobody/],
    [['flows', 'get', '../etc'], '', /flow/],
    [['publish', 'boiler.raw', 'warm'], '', /dtype/],
    [['publish', 'boiler.nothing', '1'], '', /boiler\.nothing/],
    [['messages', 'get', 'boiler.smooth'], '', /no value/],
    [['flows', 'put', 'boiler', '-'], '{"nodes": [{}]}', /nodes\[0\]/],
    [['flows', 'put', '9', '-'], '{"nodes": []}', /name/],
  ]
  for (const [argv, stdin, says] of refused) {
    const { code, stdout, stderr } = await svc(argv, stdin)
    assert.deepEqual([code, stdout], [3, ''], `${argv}: ${stderr}`)
    assert.match(stderr, says)
  }
})
