import assert from 'node:assert/strict'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import type { EngineFile } from '../../../../protocol/installation.ts'
import { directoryFor, eventually, isAlive, Spawned } from '../../../kit/spawned.ts'

const SERVE = ['--port', '0', '--plain']
const FAST = { RESTART_AFTER_MS: '10' }

const engineOf = (cwd: string): EngineFile => JSON.parse(readFileSync(join(cwd, '.svc/engine.json'), 'utf8'))

const answersAgain = (url: string, ended_pid: number): Promise<number> =>
  eventually(`${url} answers again`, async () => {
    try {
      const { pid } = (await (await fetch(url)).json()) as { pid: number }
      return pid !== ended_pid && pid
    } catch {
      return null
    }
  })

async function served(t: TestContext, environment: Record<string, string> = {}) {
  const cwd = directoryFor(t)
  const serve = Spawned.serveFake(t, { cwd, argv: SERVE, environment })
  const url = await serve.ready()
  return { cwd, serve, url, pid: engineOf(cwd).pid }
}

describe('svc serve', () => {
  test('prints exactly one line with --plain, and the first password on stderr', async t => {
    const { serve, url, cwd } = await served(t)
    await fetch(`${url}/print`)
    await serve.stderrShows('printed by a body')
    assert.equal(serve.stdout, `ready ${url}\n`)
    assert.match(serve.stderr, /admin, password [A-Za-z2-9]{20} \(shown once\)/)
    assert.equal(statSync(join(cwd, '.svc/token')).mode & 0o777, 0o600)
  })

  test('prints the numbers it started with, the interpreter and where things are', async t => {
    const cwd = directoryFor(t)
    const argv = ['--port', '0', '--max-runs', '3', '--gpus', '2']
    const serve = Spawned.serveFake(t, { cwd, argv, environment: { FLOW_LANES: '5', FLOW_CPUS: '7' } })
    const text = await eventually('it greets', () => serve.stdout.includes('token') && serve.stdout)
    assert.match(text, /^address +http:\/\/127\.0\.0\.1:\d+$/m)
    assert.match(text, /runs 3, cascades 1000, workers \d+, lanes 5, cpus 7, gpus 2$/m)
    assert.ok(text.includes(process.execPath) && text.includes(process.version))
    assert.ok(text.includes(join(cwd, '.svc')) && text.includes('password'))
    serve.child.kill('SIGTERM')
    assert.equal((await serve.ended).code, 0)
    const again = Spawned.serveFake(t, { cwd, argv })
    assert.ok(
      !(await eventually('it greets', () => again.stdout.includes('token') && again.stdout)).includes('password'),
    )
  })
})

describe('an engine that crashes', () => {
  test('is started again on the same port', async t => {
    const { serve, url, pid, cwd } = await served(t, FAST)
    process.kill(pid, 'SIGKILL')
    const second = await answersAgain(url, pid)
    await serve.stderrShows(`answers again at ${url}`)
    assert.equal(engineOf(cwd).pid, second)
    assert.equal(serve.stdout, `ready ${url}\n`)
    assert.ok(readFileSync(join(cwd, '.svc/serve.log'), 'utf8').includes('"after":"signal SIGKILL"'))
  })

  test('is started again after an exception that nobody caught, which the log keeps', async t => {
    const { serve, url, pid, cwd } = await served(t, FAST)
    await fetch(`${url}/throw`).catch(() => {})
    await answersAgain(url, pid)
    await serve.stderrShows('exit code 1')
    assert.match(readFileSync(join(cwd, '.svc/serve.log'), 'utf8'), /uncaught_exception.*SyntaxError/)
  })

  test('six times within a minute stays down', async t => {
    const { serve, url, pid } = await served(t, { RESTART_AFTER_MS: '1' })
    let last = pid
    for (let crash = 1; crash <= 5; crash++) {
      process.kill(last, 'SIGKILL')
      last = await answersAgain(url, last)
    }
    process.kill(last, 'SIGKILL')
    assert.equal((await serve.ended).code, 1)
    assert.match(serve.stderr, /6th time within a minute; it is not started again.*serve\.log/)
  })

  test('is waited for no longer once a signal comes', async t => {
    const { serve, pid } = await served(t, { RESTART_AFTER_MS: '60000' })
    process.kill(pid, 'SIGKILL')
    await serve.stderrShows('started again in 60 s')
    serve.child.kill('SIGINT')
    assert.equal((await serve.ended).code, 130)
  })
})

describe('a start that is refused', () => {
  const refused = async (t: TestContext, cwd: string, argv: string[], environment: Record<string, string> = {}) => {
    const serve = Spawned.serveFake(t, { cwd, argv, environment })
    const { code } = await serve.ended
    assert.equal(serve.stdout, '')
    assert.ok(!serve.stderr.includes('started again'), serve.stderr)
    return { code, stderr: serve.stderr }
  }

  test('by a bad setting ends with 2 and names it', async t => {
    const cwd = directoryFor(t)
    const { code, stderr } = await refused(t, cwd, SERVE, { FLOW_MAX_RUNS: '0' })
    assert.equal(code, 2)
    assert.match(stderr, /FLOW_MAX_RUNS/)
    assert.ok(!existsSync(join(cwd, '.svc')))
  })

  test('by another database ends with 2', async t => {
    const { code, stderr } = await refused(t, directoryFor(t), SERVE, { DATABASE_URL: 'postgres://a:b@c/d' })
    assert.equal(code, 2)
    assert.match(stderr, /DATABASE_URL/)
  })

  test('by a running engine ends with 3 and names its process and address', async t => {
    const { cwd, url, pid } = await served(t)
    const { code, stderr } = await refused(t, cwd, SERVE)
    assert.equal(code, 3)
    assert.ok(stderr.includes(String(pid)) && stderr.includes(url), stderr)
    assert.equal((await fetch(url)).status, 200)
  })

  test('by a taken port ends with 3 and frees the installation', async t => {
    const cwd = directoryFor(t)
    const squatter = createServer().listen(0, '127.0.0.1')
    t.after(() => squatter.close())
    await new Promise(resolve => squatter.once('listening', resolve))
    const { port } = squatter.address() as { port: number }
    const { code, stderr } = await refused(t, cwd, ['--port', String(port), '--plain'])
    assert.equal(code, 3)
    assert.ok(stderr.includes(String(port)) && stderr.includes('--port'), stderr)
    assert.ok(!existsSync(join(cwd, '.svc/engine.json')))
  })
})

describe('stopping', () => {
  for (const [signal, code] of [
    ['SIGTERM', 0],
    ['SIGINT', 130],
    ['SIGHUP', 0],
  ] as const) {
    test(`${signal} ends the engine cleanly and then the command with ${code}`, async t => {
      const { serve, pid, cwd } = await served(t)
      serve.child.kill(signal)
      assert.equal((await serve.ended).code, code)
      assert.equal(isAlive(pid), false)
      assert.ok(!existsSync(join(cwd, '.svc/engine.json')))
      assert.match(readFileSync(join(cwd, '.svc/serve.log'), 'utf8'), /engine_stopped"}\n$/)
    })
  }

  test('a second SIGINT kills an engine that does not stop', async t => {
    const { serve, pid } = await served(t, { FAKE_CLOSE: 'never' })
    serve.child.kill('SIGINT')
    await serve.stderrShows('the fake does not close')
    assert.equal(isAlive(pid), true)
    serve.child.kill('SIGINT')
    assert.equal((await serve.ended).code, 130)
    assert.equal(isAlive(pid), false)
  })

  test('a second SIGHUP, as a terminal that is closed sends it, does not', async t => {
    const { serve, pid } = await served(t, { FAKE_CLOSE: 'never' })
    serve.child.kill('SIGHUP')
    await serve.stderrShows('the fake does not close')
    serve.child.kill('SIGHUP')
    await wait(200)
    assert.equal(isAlive(pid), true)
    serve.child.kill('SIGINT')
    await serve.ended
    assert.equal(isAlive(pid), false)
  })

  test('SIGTERM to the engine itself is a stop and no crash', async t => {
    const { serve, pid } = await served(t)
    process.kill(pid, 'SIGTERM')
    assert.equal((await serve.ended).code, 0)
  })

  test('a supervisor that is killed leaves no engine behind', async t => {
    const { serve, pid, cwd } = await served(t)
    serve.child.kill('SIGKILL')
    await eventually('the engine has ended', () => !isAlive(pid))
    assert.ok(!existsSync(join(cwd, '.svc/engine.json')))
  })

  test('a supervisor that is killed during the start leaves no engine behind', async t => {
    const cwd = directoryFor(t)
    const serve = Spawned.serveFake(t, { cwd, argv: SERVE })
    const pid = await eventually('the engine starts', () => {
      try {
        return engineOf(cwd).pid
      } catch {
        return null
      }
    })
    serve.child.kill('SIGKILL')
    await eventually('the engine has ended', () => !isAlive(pid))
  })
})
