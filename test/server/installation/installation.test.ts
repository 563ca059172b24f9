import assert from 'node:assert/strict'
import { createPrivateKey } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { ServiceError } from '../../../protocol/errors.ts'
import { installationPlace } from '../../../protocol/installation.ts'
import { VERSION } from '../../../protocol/version.ts'
import { Installation, type InstallationOptions } from '../../../server/installation/installation.ts'
import { ROOT } from '../../kit/sources.ts'
import { directoryFor, isAlive, Spawned } from '../../kit/spawned.ts'

const open = (t: TestContext, options: Partial<InstallationOptions> & { cwd: string }): Installation => {
  const installation = Installation.open({
    data_dir: null,
    global: false,
    database_path: null,
    environment: {},
    ...options,
  })
  t.after(() => installation.close())
  return installation
}

const refusal = (act: () => unknown): ServiceError => {
  try {
    act()
  } catch (error) {
    assert.ok(error instanceof ServiceError, String(error))
    return error
  }
  assert.fail('it was taken')
}

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8)

describe('where an installation is', () => {
  const place = (cwd: string, there: string[], given: { data_dir?: string; global?: boolean; xdg?: string } = {}) =>
    installationPlace({
      data_dir: given.data_dir ?? null,
      global: given.global ?? false,
      cwd,
      home: '/home/ada',
      xdg_data_home: given.xdg,
      isDirectory: path => there.includes(path),
    })

  test('is the nearest .svc upward', () => {
    const there = ['/work/.svc', '/work/flows/.svc']
    assert.deepEqual(place('/work/flows/deep/er', there), { data_dir: '/work/flows/.svc', by: 'found' })
    assert.deepEqual(place('/work/other', there), { data_dir: '/work/.svc', by: 'found' })
    assert.deepEqual(place('/', ['/.svc']), { data_dir: '/.svc', by: 'found' })
  })

  test('is beside the code when there is none', () => {
    assert.deepEqual(place('/work/flows', []), { data_dir: '/work/flows/.svc', by: 'beside' })
  })

  test('is the one that was named', () => {
    assert.deepEqual(place('/work', ['/work/.svc'], { data_dir: '../state' }), { data_dir: '/state', by: 'named' })
  })

  test('is under the data home with --global', () => {
    assert.equal(place('/work', ['/work/.svc'], { global: true }).data_dir, '/home/ada/.local/share/svc')
    assert.equal(place('/work', [], { global: true, xdg: '/data' }).data_dir, '/data/svc')
    assert.equal(place('/work', [], { global: true, xdg: 'relative' }).data_dir, '/home/ada/.local/share/svc')
  })
})

describe('a new installation', () => {
  test('is private, ignored by git, and has a signing key', t => {
    const cwd = directoryFor(t)
    const installation = open(t, { cwd })
    const data_dir = join(cwd, '.svc')
    assert.equal(installation.data_dir, data_dir)
    assert.equal(installation.isNew, true)
    assert.equal(modeOf(data_dir), '700')
    assert.equal(readFileSync(join(data_dir, '.gitignore'), 'utf8'), '*\n')
    assert.equal(modeOf(join(data_dir, 'key.pem')), '600')
    assert.equal(createPrivateKey(installation.signing_key_pem).asymmetricKeyType, 'ed25519')
  })

  test('says who serves it, and where once that is known', t => {
    const installation = open(t, { cwd: directoryFor(t) })
    const read = () => JSON.parse(readFileSync(join(installation.data_dir, 'engine.json'), 'utf8'))
    assert.partialDeepStrictEqual(read(), { url: null, pid: process.pid, version: VERSION })
    installation.announce('http://127.0.0.1:8700')
    assert.equal(read().url, 'http://127.0.0.1:8700')
    installation.close()
    assert.ok(!existsSync(join(installation.data_dir, 'engine.json')))
  })

  test('hands the password of its first account to whoever stores it, and keeps it nowhere', async t => {
    const installation = open(t, { cwd: directoryFor(t) })
    assert.equal(installation.newAdmin, null)
    let stored = ''
    await installation.makeAdmin(async ({ name, password }) => {
      assert.equal(name, 'admin')
      stored = password
    })
    assert.deepEqual(installation.newAdmin, { name: 'admin', password: stored })
    assert.match(stored, /^[2-9A-HJ-NP-Za-km-z]{20}$/)
    for (const file of readdirSync(installation.data_dir)) {
      assert.ok(!readFileSync(join(installation.data_dir, file), 'utf8').includes(stored), file)
    }
  })

  test('has no account to show when storing it failed', async t => {
    const installation = open(t, { cwd: directoryFor(t) })
    await assert.rejects(installation.makeAdmin(() => Promise.reject(new ServiceError('disk_full'))))
    assert.equal(installation.newAdmin, null)
  })
})

describe('an installation that is opened again', () => {
  test('keeps its key and becomes private again', t => {
    const cwd = directoryFor(t)
    const first = open(t, { cwd })
    first.close()
    const keyFile = join(first.data_dir, 'key.pem')
    writeFileSync(keyFile, first.signing_key_pem, { mode: 0o644 })
    const second = open(t, { cwd: cwd })
    assert.equal(second.signing_key_pem, first.signing_key_pem)
    assert.equal(second.isNew, false)
    assert.equal(modeOf(keyFile), '600')
  })

  test('refuses a damaged key and leaves it as it is', t => {
    const cwd = directoryFor(t)
    const first = open(t, { cwd })
    first.close()
    writeFileSync(join(first.data_dir, 'key.pem'), 'broken')
    const { code, detail } = refusal(() => open(t, { cwd }))
    assert.equal(code, 'bad_installation')
    assert.match(detail, /key\.pem/)
    assert.equal(readFileSync(join(first.data_dir, 'key.pem'), 'utf8'), 'broken')
  })

  test('has one engine: a second is refused and told of the first', t => {
    const cwd = directoryFor(t)
    const first = open(t, { cwd })
    first.announce('http://127.0.0.1:4711')
    const { code, detail } = refusal(() => open(t, { cwd }))
    assert.equal(code, 'second_engine')
    assert.ok(detail.includes(String(process.pid)) && detail.includes('http://127.0.0.1:4711'), detail)
  })

  test('is free the moment its engine is killed', async t => {
    const cwd = directoryFor(t)
    const source = `
      const { Installation } = await import(${JSON.stringify(join(ROOT, 'server/installation/installation.ts'))})
      // Kept, so that the lock of an engine that runs is not collected.
      globalThis.installation = Installation.open({ data_dir: null, global: false, database_path: null, environment: {}, cwd: process.cwd() })
      console.log('open')
      setInterval(() => {}, 1000)`
    const flags = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', source]
    const engine = new Spawned(t, process.execPath, flags, { cwd })
    await new Promise(resolve => engine.child.stdout!.once('data', resolve))
    const { detail } = refusal(() => open(t, { cwd }))
    assert.ok(detail.includes(`Process ${engine.child.pid} is starting`), detail)
    engine.child.kill('SIGKILL')
    await engine.ended
    assert.equal(isAlive(engine.child.pid!), false)
    assert.equal(open(t, { cwd }).isNew, false)
  })
})

describe('a database that is gone', () => {
  const present = (data_dir: string): string[] => readdirSync(data_dir).filter(name => name !== 'lock.db')
  const closed = (t: TestContext): { cwd: string; data_dir: string; path: string } => {
    const cwd = directoryFor(t)
    const installation = open(t, { cwd })
    installation.close()
    return { cwd, data_dir: installation.data_dir, path: installation.database }
  }

  test('is not replaced by an empty one: the key says that there was one', t => {
    const { cwd, data_dir, path } = closed(t)
    for (const [spoil, what] of [
      [() => rmSync(path), 'is not there'],
      [() => writeFileSync(path, ''), 'is empty'],
    ] as const) {
      spoil()
      const before = present(data_dir)
      const { code, detail } = refusal(() => open(t, { cwd }))
      assert.equal(code, 'database_missing')
      assert.ok(detail.startsWith(`${path} ${what}`), detail)
      assert.match(detail, /key\.pem/)
      assert.deepEqual(present(data_dir), before)
    }
    renameSync(join(data_dir, 'key.pem'), join(data_dir, 'old-key.pem'))
    rmSync(path)
    assert.equal(open(t, { cwd }).isNew, true)
    assert.ok(statSync(path).size > 0)
  })

  test('is none of a first start that was cut off before it had a key', t => {
    const { cwd, data_dir } = closed(t)
    rmSync(join(data_dir, 'key.pem'))
    assert.equal(open(t, { cwd }).isNew, true)
  })

  test('says so when it is what was committed last: the log of an engine that was killed', t => {
    const { cwd, data_dir } = closed(t)
    const killed = { url: 'http://127.0.0.1:4711', pid: 1, started_at: '2026-01-01T00:00:00Z', version: VERSION }
    writeFileSync(join(data_dir, 'engine.json'), JSON.stringify(killed))
    const { code, detail } = refusal(() => open(t, { cwd }))
    assert.equal(code, 'bad_database')
    assert.match(detail, /engine\.db-wal is missing, and the engine did not stop cleanly/)
    writeFileSync(join(data_dir, 'engine.db-wal'), '')
    open(t, { cwd }).close()
    rmSync(join(data_dir, 'engine.db-wal'))
    writeFileSync(join(data_dir, 'engine.json'), JSON.stringify({ ...killed, url: null }))
    open(t, { cwd })
  })

  test('is no question of an engine that was killed while it ended', t => {
    const cwd = directoryFor(t)
    const installation = open(t, { cwd })
    installation.announce('http://127.0.0.1:4711')
    installation.retire()
    const { url } = JSON.parse(readFileSync(join(installation.data_dir, 'engine.json'), 'utf8')) as { url: unknown }
    assert.equal(url, null)
  })
})

describe('a directory that holds other things', () => {
  test('is used as it is, without hiding it from git or from its group', t => {
    const cwd = directoryFor(t)
    const data_dir = join(cwd, 'state')
    mkdirSync(data_dir, { mode: 0o755 })
    writeFileSync(join(data_dir, 'notes.txt'), 'mine')
    const umask = process.umask()
    t.after(() => process.umask(umask))
    open(t, { cwd, data_dir })
    assert.equal(modeOf(data_dir), '755')
    assert.ok(!existsSync(join(data_dir, '.gitignore')))
    assert.equal(modeOf(join(data_dir, 'key.pem')), '600')
  })

  test('that is a file is refused by name', t => {
    const cwd = directoryFor(t)
    writeFileSync(join(cwd, 'state'), '')
    const { code, detail } = refusal(() => open(t, { cwd, data_dir: 'state' }))
    assert.equal(code, 'bad_installation')
    assert.ok(detail.includes(join(cwd, 'state')), detail)
  })
})

describe('a database that DATABASE_URL names', () => {
  test('is this installation’s own, or refused before anything is made', t => {
    const cwd = directoryFor(t)
    const { code } = refusal(() => open(t, { cwd, database_path: 'other.db' }))
    assert.equal(code, 'wrong_database')
    assert.ok(!existsSync(join(cwd, '.svc')))
    assert.equal(open(t, { cwd, database_path: '.svc/engine.db' }).database, join(cwd, '.svc/engine.db'))
  })
})

describe('the token file', () => {
  test('holds the token alone, for its owner alone, and is renewed before it expires', async t => {
    t.mock.timers.enable({ apis: ['setInterval', 'Date'] })
    const installation = open(t, { cwd: directoryFor(t) })
    let minted = 0
    const mint = async () => ({ token: `token-${++minted}`, lifetime_s: 8 * 3_600 })
    const token = () => readFileSync(installation.tokenFile, 'utf8')
    await installation.keepToken(mint, error => assert.fail(String(error)))
    assert.equal(token(), 'token-1')
    assert.equal(modeOf(installation.tokenFile), '600')
    t.mock.timers.tick(5 * 3_600_000)
    await Promise.resolve()
    assert.equal(token(), 'token-1')
    t.mock.timers.tick(3_600_000)
    await new Promise(resolve => setImmediate(resolve))
    assert.equal(token(), 'token-2')
  })

  test('stays as it was when a renewal fails, which is reported and tried again', async t => {
    t.mock.timers.enable({ apis: ['setInterval', 'Date'] })
    const installation = open(t, { cwd: directoryFor(t) })
    let isFailing = false
    const failures: unknown[] = []
    const mint = async () => {
      if (isFailing) throw new ServiceError('store_failed')
      return { token: `token-${failures.length}`, lifetime_s: 3_600 }
    }
    await installation.keepToken(mint, error => failures.push(error))
    isFailing = true
    t.mock.timers.tick(3_000_000)
    await new Promise(resolve => setImmediate(resolve))
    assert.ok(failures.length > 0)
    assert.equal(readFileSync(installation.tokenFile, 'utf8'), 'token-0')
    isFailing = false
    t.mock.timers.tick(60_000)
    await new Promise(resolve => setImmediate(resolve))
    assert.notEqual(readFileSync(installation.tokenFile, 'utf8'), 'token-0')
  })
})

describe('a password reset', () => {
  const HOURS = 3_600_000
  const kept = (installation: Installation): string[] =>
    readdirSync(installation.data_dir).filter(name => name.startsWith('reset-'))
  /** The file says that it was written so many hours ago. */
  const age = (path: string, hours: number): void => {
    const at_s = (Date.now() - hours * HOURS) / 1000
    utimesSync(path, at_s, at_s)
  }

  test('is kept for the owner of the installation alone, one a user, without the name in its path', t => {
    const installation = open(t, { cwd: directoryFor(t) })
    const first = installation.keepReset('../ada', 'token-1')
    assert.equal(installation.keepReset('../ada', 'token-2'), first)
    assert.notEqual(installation.keepReset('bob', 'token-3'), first)
    assert.equal(modeOf(first), '600')
    assert.deepEqual(JSON.parse(readFileSync(first, 'utf8')), { user: '../ada', token: 'token-2' })
    assert.equal(kept(installation).length, 2)
  })

  test('goes when its token has ended: at the next start, with the next reset, or while nobody asks', async t => {
    t.mock.timers.enable({ apis: ['setInterval', 'Date'], now: Date.now() })
    const cwd = directoryFor(t)
    const first = open(t, { cwd })
    age(first.keepReset('ada', 'token'), 49)
    age(first.keepReset('bob', 'token'), 47)
    const others = join(first.data_dir, 'reset-notes.json')
    writeFileSync(others, '')
    age(others, 100)
    first.close()

    const second = open(t, { cwd })
    assert.equal(kept(second).length, 2, 'one that is good for another hour, and a file that is not ours')
    age(second.keepReset('bob', 'token'), 49)
    const cara = second.keepReset('cara', 'token')
    assert.equal(kept(second).length, 2)
    await second.keepToken(
      async () => ({ token: 'token', lifetime_s: 3_600 }),
      error => assert.fail(String(error)),
    )
    t.mock.timers.tick(47 * HOURS)
    assert.ok(existsSync(cara))
    t.mock.timers.tick(2 * HOURS)
    assert.deepEqual(kept(second), ['reset-notes.json'])
  })
})

test('the release number is that of the package', () => {
  assert.equal(VERSION, JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).version)
})
