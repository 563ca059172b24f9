import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { directoryFor, eventually, Spawned } from '../../kit/spawned.ts'

const DOUBLER = {
  nodes: [
    {
      id: 'double',
      type: 'code',
      source: 'export default ({ raw }: { raw: number }) => ({ twice: raw * 2 })',
      ports: { inputs: [{ name: 'raw', dtype: 'float' }], outputs: [{ name: 'twice', dtype: 'float' }] },
    },
  ],
  inputs: [{ message: 'raw', dtype: 'float' }],
}

/** `svc serve` as a user runs it, in a directory of its own. */
async function served(t: TestContext, argv: string[] = ['serve', '--plain', '--port', '0']) {
  const cwd = directoryFor(t)
  const serve = Spawned.svc(t, { argv, cwd })
  const url = await serve.ready()
  const svc = async (words: string[], stdin = '') => {
    const run = Spawned.svc(t, { argv: words, cwd })
    run.child.stdin!.end(stdin)
    const { code } = await run.ended
    return { code, stdout: run.stdout, stderr: run.stderr }
  }
  const engine = () => JSON.parse(readFileSync(join(cwd, '.svc/engine.json'), 'utf8')) as { pid: number }
  return { cwd, serve, url, svc, engine }
}

describe('svc serve with everything in it', () => {
  test('runs a flow: what is published goes in, what it makes comes out', async t => {
    const { svc, cwd, serve } = await served(t)
    writeFileSync(join(cwd, 'doubler.json'), JSON.stringify(DOUBLER))
    const put = await svc(['flows', 'put', 'doubler', 'doubler.json'])
    assert.equal(put.code, 0, put.stderr)
    const tail = Spawned.svc(t, { argv: ['tail', 'doubler.twice', '--json', '--count', '1'], cwd })
    assert.equal((await svc(['publish', 'doubler.raw', '21'])).code, 0)
    assert.equal((await tail.ended).code, 0, tail.stderr)
    assert.partialDeepStrictEqual(JSON.parse(tail.stdout), { name: 'doubler.twice', value: 42 })
    assert.equal((await svc(['messages', 'get', 'doubler.twice'])).stdout, '42\n')
    assert.match((await svc(['status'])).stdout, /^flows +1, 1 enabled, 0 with issues$/m)
    serve.child.kill('SIGTERM')
    assert.equal((await serve.ended).code, 0)
    assert.equal((await svc(['status'])).code, 4)
  })

  test('keeps flows and values over a crash of the engine', async t => {
    const { svc, engine, serve, url } = await served(t)
    await svc(['flows', 'put', 'doubler', '-'], JSON.stringify(DOUBLER))
    await svc(['publish', 'doubler.raw', '21'])
    await eventually('it ran', async () => (await svc(['messages', 'get', 'doubler.twice'])).stdout === '42\n')
    const published = await svc(['messages', 'get', 'doubler.raw', '--json'])
    // Live history is committed in groups: a later control write is durable behind it.
    await svc(['flows', 'put', 'doubler', '-'], JSON.stringify({ ...DOUBLER, inputs: DOUBLER.inputs }))
    process.kill(engine().pid, 'SIGKILL')
    await serve.stderrShows(`answers again at ${url}`)
    const after = await svc(['messages', 'get', 'doubler.raw', '--json'])
    assert.deepEqual(JSON.parse(after.stdout), JSON.parse(published.stdout))
    assert.equal((await svc(['flows', 'list', '--json'])).code, 0)
  })

  test('stops cleanly right after its first answer', async t => {
    const { serve, cwd } = await served(t)
    serve.child.kill('SIGTERM')
    assert.equal((await serve.ended).code, 0, serve.stderr)
    assert.ok(!existsSync(join(cwd, '.svc/engine.json')))
    assert.ok(!readFileSync(join(cwd, '.svc/serve.log'), 'utf8').includes('"level":"error"'))
  })

  test('takes options before its name too', async t => {
    const { cwd, svc } = await served(t, ['--data-dir', 'state', 'serve', '--plain', '--port', '0'])
    assert.ok(existsSync(join(cwd, 'state/engine.json')))
    assert.equal((await svc(['status', '--data-dir', 'state'])).code, 0)
    assert.equal((await svc(['status'])).code, 4)
  })

  test('names an address that clients can use when it listens on every one', async t => {
    const { url, svc } = await served(t, ['serve', '--plain', '--port', '0', '--host', '0.0.0.0'])
    assert.match(url, /^http:\/\/127\.0\.0\.1:\d+$/)
    assert.equal((await svc(['status'])).code, 0)
  })

  test('stores the examples on an empty installation when asked, once', async t => {
    const { svc, cwd, serve } = await served(t, ['serve', '--plain', '--port', '0', '--example'])
    const names = async () =>
      JSON.parse((await svc(['flows', 'list', '--json'])).stdout).items.map((flow: { name: string }) => flow.name)
    assert.deepEqual(await names(), ['bottles', 'host', 'machine'])
    const tail = Spawned.svc(t, { argv: ['tail', 'machine.temperature', '--count', '3'], cwd })
    assert.equal((await tail.ended).code, 0, tail.stderr)
    serve.child.kill('SIGTERM')
    await serve.ended
    const again = Spawned.svc(t, { argv: ['serve', '--port', '0', '--example'], cwd })
    await eventually('it greets', () => again.stdout.includes('token'))
    assert.ok(!again.stdout.includes('examples'), again.stdout)
  })
})
