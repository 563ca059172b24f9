import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import type { EngineFile } from '../../../protocol/installation.ts'
import { code, flow, input, output } from '../../kit/live-story.ts'
import { RealEngine } from '../../kit/real-engine.ts'
import { ROOT } from '../../kit/sources.ts'
import { directoryFor, eventually, isAlive } from '../../kit/spawned.ts'
import { skip, Terminal, type TerminalOptions } from '../../kit/tmux.ts'

const NAMES = ['boiler', 'pump', '温度計', 'mail_report']
const passing = flow([code('body', 'export default ({ x }) => ({ y: x })', [input('x')], [output('y')])], {
  message: 'x',
  dtype: 'json',
})

/** An engine with a few flows, and `svc top` for it in a terminal. */
async function shown(t: TestContext, options: Partial<TerminalOptions> = {}) {
  const engine = await RealEngine.start(t)
  for (const name of NAMES) if (/^\w+$/.test(name)) await engine.save(name, passing)
  const terminal = await Terminal.start(t, { argv: ['top', '--data-dir', engine.data_dir], ...options })
  await terminal.shows(/· boiler/)
  return { engine, terminal }
}

describe('svc top', { skip }, () => {
  test('fills the terminal, and goes along when its size changes', async t => {
    const { engine, terminal } = await shown(t)
    await eventually('it is live', () => !terminal.text.includes('connecting'))
    const small = terminal.lines
    assert.equal(small.length, 24)
    assert.match(small[0]!, /^ data {2}\d+\.\d+\.\d+ {2}http:\/\/127\.0\.0\.1:\d+ +up \d+ s {3}\d\d:\d\d:\d\d$/)
    assert.match(small[1]!, /^ 3 of 3 live {3}\d+\/s/)
    assert.match(small[2]!, /^─ flows 3 ─+ by need, then rate ─$/)
    assert.match(small[23]!, /^ ↑↓ move {2}⏎ open .* q leave$/)
    assert.deepEqual(terminal.state, { second: true, cursor: false })
    terminal.resize(120, 40)
    await terminal.shows(/─│─ runs 0 ─/)
    assert.equal(terminal.lines.length, 40)
    assert.match(terminal.lines[39]!, /q leave$/)
    terminal.resize(60, 12)
    await terminal.shows(/queue$/m)
    assert.equal(terminal.lines.length, 12)
    terminal.resize(80, 24)
    await terminal.shows(/─ log ─/)
    await engine.publish('boiler.x', 1)
    await terminal.shows(/boiler +0\.2 /)
  })

  test('opens a flow, filters, pauses, and marks what failed', async t => {
    const { engine, terminal } = await shown(t)
    await engine.save(
      'pump',
      flow([code('body', `export default () => { throw new Error('no level') }`, [input('x')], [output('y')])], {
        message: 'x',
        dtype: 'json',
      }),
    )
    await engine.publish('pump.x', 1)
    await terminal.shows(/■ pump .* 1 failed/)
    await terminal.shows(/─ issues 1 ─.*■ pump\.body +Error: no level/s)
    terminal.press('/', 'b', 'o', 'i')
    await terminal.shows(/flows 1 of 3/)
    await terminal.shows('/ boi')
    terminal.press('Enter', 'Enter')
    await terminal.shows(/─ boiler ─+ 1 node ─/)
    await terminal.shows(/›· body/)
    terminal.press('Escape', 'p')
    await terminal.shows(/paused \d+ s/)
    terminal.press('p', '?')
    await terminal.shows(/─ keys ─/)
  })

  test('is not put aside by Ctrl-Z where no shell could bring it back', async t => {
    const { engine, terminal } = await shown(t)
    terminal.press('C-z')
    await engine.publish('boiler.x', 1)
    await terminal.shows(/boiler +0\.2 /)
    assert.deepEqual(terminal.state, { second: true, cursor: false })
    terminal.press('q')
    await terminal.isGivenBack(0)
  })

  test('says how old the figures are when the engine is silent, and goes on when it answers again', async t => {
    const { engine, terminal } = await shown(t)
    process.kill(engine.pid, 'SIGSTOP')
    // The supervisor sends SIGCONT every second: it has to be silent for longer.
    const stopping = setInterval(() => process.kill(engine.pid, 'SIGSTOP'), 5)
    t.after(() => clearInterval(stopping))
    await terminal.shows(/no answer for \d+ s/)
    assert.ok(terminal.styled.split('\n')[0]!.includes('\x1b[31m'), 'in red')
    clearInterval(stopping)
    process.kill(engine.pid, 'SIGCONT')
    await eventually('it is live again', () => !terminal.text.includes('no answer'))
    const { pid } = engine
    await engine.kill()
    await terminal.shows(/no answer for \d+ s/)
    terminal.press('q')
    await terminal.isGivenBack(0)
    assert.ok(!isAlive(pid))
  })

  test('has shapes of ASCII without UTF-8, and no colours with NO_COLOR', async t => {
    const engine = await RealEngine.start(t)
    await engine.save('boiler', passing)
    const environment = { LC_ALL: 'C', NO_COLOR: '1' }
    const terminal = await Terminal.start(t, { argv: ['top', '--data-dir', engine.data_dir], environment })
    await terminal.shows(/^>\. boiler/m)
    assert.doesNotMatch(terminal.text, /[^\x20-\x7e\n]/)
    // Of what a style may be: bold, and its end.
    for (const part of terminal.styled.split('\x1b[').slice(1)) assert.match(part, /^(0|1|39|49|39;49)?m/)
  })
})

describe('the terminal is given back', { skip }, () => {
  const ways: readonly [how: string, code: number, end: (terminal: Terminal) => void][] = [
    ['q', 0, terminal => terminal.press('q')],
    ['Ctrl-C', 130, terminal => terminal.press('C-c')],
    ['SIGTERM', 143, ({ pid }) => process.kill(pid, 'SIGTERM')],
    ['SIGINT', 130, ({ pid }) => process.kill(pid, 'SIGINT')],
    ['SIGHUP', 129, ({ pid }) => process.kill(pid, 'SIGHUP')],
  ]
  test(`by ${ways.map(([how]) => how).join(', ')}`, async t => {
    const engine = await RealEngine.start(t)
    await engine.save('boiler', passing)
    for (const [how, exit_code, end] of ways) {
      const terminal = await Terminal.start(t, { argv: ['top', '--data-dir', engine.data_dir] })
      await terminal.shows(/· boiler/)
      end(terminal)
      const text = await terminal.isGivenBack(exit_code)
      assert.match(text, /boiler {2}version 1 saved by/, `${how}: the last lines of the log are there`)
    }
  })

  for (const word of ['throw', 'reject']) {
    test(`after a defect that nobody caught (${word})`, async t => {
      const program = join(ROOT, 'test/kit/failing-dashboard.ts')
      const terminal = await Terminal.start(t, { program, argv: [word] })
      const text = await terminal.isGivenBack(1)
      assert.match(text, /the last words.*RangeError: a defect of the dashboard/s)
    })
  }

  test('when the engine lets us in no more', async t => {
    const engine = await RealEngine.start(t)
    await engine.save('boiler', passing)
    const environment = { SVC_URL: engine.url, SVC_TOKEN: engine.token }
    const terminal = await Terminal.start(t, { argv: ['top'], environment })
    await terminal.shows(/· boiler/)
    await engine.ask('POST', '/logout')
    const text = await terminal.isGivenBack(5)
    assert.match(text, /^svc: http.* does not accept the token\. Sign in with/m)
  })
})

describe('svc serve in a terminal', { skip }, () => {
  const engineOf = (data_dir: string): EngineFile => JSON.parse(readFileSync(join(data_dir, 'engine.json'), 'utf8'))
  const serve = async (t: TestContext, ...more: string[]) => {
    const data_dir = join(directoryFor(t), 'plant', '.svc')
    const argv = ['serve', '--port', '0', '--data-dir', data_dir, ...more]
    return { data_dir, terminal: await Terminal.start(t, { argv }) }
  }

  test('shows the first password until a key is pressed, then the dashboard; q leaves it, Ctrl-C ends the engine', async t => {
    const { data_dir, terminal } = await serve(t)
    const first = await terminal.shows(/admin, password \w{20} \(shown once\).*Esc close/s)
    assert.match(first, /^ plant {2}/)
    terminal.press('Escape')
    await terminal.shows(/there are no flows yet/)
    const { pid } = engineOf(data_dir)
    terminal.press('q')
    const left = await terminal.shows(/the engine goes on at http/)
    assert.match(left, /^address +http:\/\/127\.0\.0\.1:\d+$/m)
    assert.match(left, /password \w{20} \(shown once\)/)
    assert.ok(isAlive(pid))
    terminal.press('C-c')
    await terminal.isGivenBack(130)
    await eventually('the engine has ended', () => !isAlive(pid))
  })

  test('ends with Ctrl-C in the dashboard, and with SIGTERM', async t => {
    for (const end of ['C-c', 'SIGTERM']) {
      const { terminal } = await serve(t)
      await terminal.shows(/Esc close/)
      terminal.press('Escape')
      await terminal.shows(/there are no flows yet/)
      if (end === 'C-c') terminal.press('C-c')
      else process.kill(terminal.pid, 'SIGTERM')
      await terminal.isGivenBack(end === 'C-c' ? 130 : 0)
    }
  })

  test('goes on without its dashboard when that is killed, and with it when the engine crashes', async t => {
    const { data_dir, terminal } = await serve(t)
    await terminal.shows(/Esc close/)
    terminal.press('Escape')
    const { pid } = engineOf(data_dir)
    process.kill(pid, 'SIGKILL')
    await terminal.shows(/svc serve +the engine ended \(signal SIGKILL\)/)
    await terminal.shows(/svc serve +the engine answers again/)
    const children = execFileSync('ps', ['-o', 'pid=,args=', '--ppid', String(terminal.pid)], { encoding: 'utf8' })
    const screen = /^ *(\d+) .*screen-process/m.exec(children)?.[1]
    assert.ok(screen, children)
    process.kill(Number(screen), 'SIGKILL')
    await terminal.shows(/the dashboard is gone: it ended with SIGKILL/)
    assert.deepEqual(terminal.state, { second: false, cursor: true })
    terminal.press('C-c')
    await terminal.isGivenBack(130)
  })

  test('prints its lines and draws nothing with --plain', async t => {
    const { terminal } = await serve(t, '--plain')
    await terminal.shows(/^ready http:\/\/127\.0\.0\.1:\d+$/m)
    assert.deepEqual(terminal.state, { second: false, cursor: true })
    terminal.press('C-c')
    await terminal.isGivenBack(130)
  })
})
