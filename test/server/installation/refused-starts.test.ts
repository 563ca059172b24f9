import assert from 'node:assert/strict'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { RealEngine } from '../../kit/real-engine.ts'
import { ROOT } from '../../kit/sources.ts'
import { directoryFor, eventually, Spawned } from '../../kit/spawned.ts'

/** What `svc serve` says before it ends, and with which code. It must be one sentence or two, not a trace. */
async function refused(t: TestContext, cwd: string, uid?: number): Promise<string> {
  const argv = ['serve', '--plain', '--port', '0', '--data-dir', 'state']
  const serve = Spawned.svc(t, { argv, cwd, ...(uid === undefined ? {} : { uid }) })
  await eventually('it ends', () => serve.child.exitCode !== null || /^ready/m.test(serve.stdout))
  assert.doesNotMatch(serve.stdout, /^ready/m, 'it was to be refused, and started')
  const { code } = await serve.ended
  assert.equal(code, 1, serve.stderr + serve.stdout)
  assert.match(serve.stderr, /^svc: [^\n]+\n$/)
  assert.doesNotMatch(serve.stderr, /\bat .*\.ts|Error:|node:/)
  return serve.stderr
}

/** Given to the user that the engine is to run as, where we may. */
function own(path: string): void {
  if (process.getuid?.() === 0) chownSync(path, NOBODY, NOBODY)
}

function laidFor(t: TestContext, lay: (state: string) => void): string {
  const cwd = directory(t, lay)
  own(cwd)
  own(join(cwd, 'state'))
  return cwd
}

/** A directory with one thing in it that should not be so; `lay` is given the path of the data directory. */
function directory(t: TestContext, lay: (state: string) => void): string {
  const cwd = directoryFor(t)
  const state = join(cwd, 'state')
  mkdirSync(state)
  lay(state)
  return cwd
}

const NOBODY = 65_534
/** May another user read the program? Not when the checkout lies in somebody's home. */
function isOpenToOthers(): boolean {
  for (let path = ROOT; path !== '/'; path = dirname(path)) if ((statSync(path).mode & 0o005) !== 0o005) return false
  return true
}

describe('a start that is refused says why in a sentence', () => {
  test('when there is a directory where a file should be', async t => {
    const names = [
      'key.pem',
      'token',
      'engine.json',
      'serve.log',
      'engine.db',
      'engine.db-wal',
      'lock.db',
      'redo.log',
      'token.new',
    ]
    await Promise.all(
      names.map(async name => {
        const cwd = directory(t, state => mkdirSync(join(state, name, 'x'), { recursive: true }))
        const text = await refused(t, cwd)
        assert.ok(text.includes(`${join(cwd, 'state', name)} is a directory where a file is expected.`), text)
        assert.ok(existsSync(join(cwd, 'state', name, 'x')), 'it is left as it is')
        assert.ok(!existsSync(join(cwd, 'state', 'key.pem')) || name === 'key.pem', 'nothing was made')
      }),
    )
  })

  test('when there is a file where a directory should be', async t => {
    for (const name of ['bodies', 'artifacts']) {
      const text = await refused(
        t,
        directory(t, state => writeFileSync(join(state, name), '')),
      )
      assert.ok(text.includes(`${name} is a file where a directory is expected.`), text)
    }
    const cwd = directoryFor(t)
    writeFileSync(join(cwd, 'state'), '')
    assert.match(await refused(t, cwd), /state cannot be used: there is a file where a directory is expected/)
  })

  test('when a link leads nowhere', async t => {
    const text = await refused(
      t,
      directory(t, state => symlinkSync('/nowhere/at/all', join(state, 'serve.log'))),
    )
    assert.match(text, /serve\.log is a broken link/)
  })

  test('when this user may not use what is there', async t => {
    const isRoot = process.getuid?.() === 0
    if (isRoot && !isOpenToOthers()) return t.skip('the checkout is closed to other users')
    const uid = isRoot ? NOBODY : undefined
    const laid = (lay: (state: string) => void): string => laidFor(t, lay)
    const cases: [why: RegExp, lay: (state: string) => void][] = [
      [/key\.pem cannot be used: this user has no permission \(EACCES\)/, state => unusable(join(state, 'key.pem'))],
      [
        /serve\.log cannot be used: this user has no permission \(EACCES\)/,
        state => unusable(join(state, 'serve.log')),
      ],
      [
        /engine\.db cannot be used: this user has no permission \(EACCES\)/,
        state => unusable(join(state, 'engine.db')),
      ],
    ]
    const unusable = (path: string): void => {
      writeFileSync(path, '')
      own(path)
      chmodSync(path, 0)
    }
    await Promise.all(cases.map(async ([why, lay]) => assert.match(await refused(t, laid(lay), uid), why)))
  })

  test('when a folder is closed to this user, or somebody else has laid a file there', async t => {
    // A folder of its own user is opened by the engine.
    if (process.getuid?.() !== 0) return t.skip('needs root, which can lay something there for another user')
    if (!isOpenToOthers()) return t.skip('the checkout is closed to other users')
    const uid = NOBODY
    const laid = (lay: (state: string) => void): string => laidFor(t, lay)
    // Not ours to enter, or to write in.
    for (const mode of [0, 0o555]) {
      const cwd = laid(() => {})
      chmodSync(join(cwd, 'state'), mode)
      chownSync(join(cwd, 'state'), 0, 0)
      assert.match(await refused(t, cwd, uid), /state\S* cannot be used: this user has no permission \(EACCES\)/)
      chmodSync(join(cwd, 'state'), 0o700)
    }
    const planted = laid(state => {
      writeFileSync(join(state, 'key.pem'), '')
      chownSync(join(state, 'key.pem'), 1234, 1234)
    })
    assert.match(await refused(t, planted, uid), /key\.pem belongs to another user/)
  })

  test('when the signing key is missing beside users; with one it starts again', async t => {
    const engine = await RealEngine.start(t)
    await engine.stop()
    const key = join(engine.data_dir, 'key.pem')
    rmSync(key)
    const before = readdirSync(engine.data_dir).sort()
    const again = RealEngine.spawn(t, { data_dir: engine.data_dir })
    assert.equal((await again.process.ended).code, 1)
    assert.match(
      again.process.stderr,
      /^svc: The signing key \S*key\.pem is missing, .* backup\. .*"openssl genpkey .*\n$/,
    )
    assert.deepEqual(readdirSync(engine.data_dir).sort(), before)

    const { generateKeyPairSync } = await import('node:crypto')
    writeFileSync(key, generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }))
    const third = await RealEngine.start(t, { data_dir: engine.data_dir })
    assert.equal((await third.ask('GET', '/users/me')).json.name, 'admin')
  })
})
