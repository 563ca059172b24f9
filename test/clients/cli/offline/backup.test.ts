import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import Database from 'better-sqlite3'
import { backup } from '../../../../server/installation/backup/backup.ts'
import { restore } from '../../../../server/installation/backup/restore.ts'
import { Installation } from '../../../../server/installation/installation.ts'
import { profile } from '../../../../test/kit/profile.ts'
import { artifactPath } from '../../../../threads/calls/artifact-files.ts'
import { limitFiles, tmpfs } from '../../../kit/mounted.ts'
import { body, flowOf, RealEngine } from '../../../kit/real-engine.ts'
import { directoryFor, eventually, Spawned } from '../../../kit/spawned.ts'
import { saving, startStore } from '../../../kit/stored.ts'

function stored(data_dir: string, bytes: Buffer): string {
  const digest = createHash('sha256').update(bytes).digest('hex')
  const path = artifactPath(join(data_dir, 'artifacts'), digest)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, bytes)
  return digest
}

/** A store that is open and writes, an artifact, a key. */
async function running(t: TestContext) {
  const data_dir = directoryFor(t)
  const { store, journal, close } = await startStore(t, data_dir)
  const document = { nodes: [], inputs: [{ message: 'x', dtype: 'float' as const }] }
  await store.saveFlow(saving('boiler', { document }))
  await store.users.put({ name: 'ada', password_hash: '$argon2id$secret', ...profile('superuser'), create: true })
  journal.declare('boiler.x', 'float')
  const artifact = stored(data_dir, randomBytes(100_000))
  writeFileSync(join(data_dir, 'key.pem'), 'the key')
  return { data_dir, store, journal, close, artifact }
}

test('a backup of a store that goes on writing is restored as of one commit, with its artifacts, without its key', async t => {
  const { data_dir, store, journal, artifact } = await running(t)
  let isWriting = true
  let written = 0
  const writing = (async () => {
    while (isWriting) {
      for (let i = 0; i < 100; i++) journal.put('boiler.x', written++, 1.7e15 + written)
      await store.flush()
    }
  })()
  const file = join(directoryFor(t), 'engine.tar')
  const done = await backup(data_dir, file)
  isWriting = false
  await writing
  assert.deepEqual([done.artifacts, done.artifact_bytes], [1, 100_000])
  assert.equal(statSync(file).mode & 0o777, 0o600)
  const listed = spawnSync('tar', ['-tf', file], { encoding: 'utf8' })
  if (listed.error === undefined)
    assert.deepEqual(
      listed.stdout
        .trim()
        .split('\n')
        .map(name => name.split('/')[0]),
      ['engine.db', 'artifacts', 'manifest.json'],
    )
  const target = join(directoryFor(t), 'restored')
  restore(target, file)
  assert.notEqual(readFileSync(join(target, 'key.pem'), 'utf8'), 'the key', 'a new one')
  assert.equal(readFileSync(artifactPath(join(target, 'artifacts'), artifact)).length, 100_000)
  const db = new Database(join(target, 'engine.db'), { readonly: true })
  assert.equal(db.pragma('integrity_check', { simple: true }), 'ok')
  db.close()
  // Refused without a key beside a database that holds users.
  const place = { data_dir: target, global: false, database_path: null, cwd: target, environment: {} }
  Installation.open(place).close()
  const again = await startStore(t, target)
  assert.deepEqual((await again.store.commits('boiler', { limit: 10, offset: 0 })).count, 1)
})

test('a restore writes over nothing', async t => {
  const { data_dir } = await running(t)
  const file = join(directoryFor(t), 'engine.tar')
  await backup(data_dir, file)
  assert.throws(() => restore(data_dir, file), { code: 'bad_installation' })
})

test('what root restores belongs to the owner of the directory', async t => {
  if (process.getuid?.() !== 0) return t.skip('needs root, which can give files to another user')
  const { data_dir } = await running(t)
  const file = join(directoryFor(t), 'engine.tar')
  await backup(data_dir, file)
  const target = directoryFor(t)
  chownSync(target, 1234, 1235)
  restore(target, file)
  const owners = readdirSync(target, { recursive: true, encoding: 'utf8' }).map(name => {
    const { uid, gid } = statSync(join(target, name))
    return [name, uid, gid]
  })
  assert.ok(owners.length > 4, 'database, key, folders of artifacts, an artifact')
  assert.deepEqual(
    owners,
    owners.map(([name]) => [name, 1234, 1235]),
  )
})

test('a damaged backup is refused wherever the damage is, and leaves nothing behind', async t => {
  const { data_dir } = await running(t)
  const file = join(directoryFor(t), 'engine.tar')
  await backup(data_dir, file)
  const whole = readFileSync(file)
  const target = join(directoryFor(t), 'restored')
  for (const at of [0, 600, Math.floor(whole.length / 2), whole.length - 2_000]) {
    const damaged = Buffer.from(whole)
    damaged[at]! ^= 0x55
    writeFileSync(file, damaged)
    assert.throws(() => restore(target, file), { code: 'bad_backup' }, `byte ${at}`)
  }
  writeFileSync(file, whole.subarray(0, whole.length - 200_000))
  assert.throws(() => restore(target, file), { code: 'bad_backup' })
  assert.equal(existsSync(target), false)
  rmSync(file)
})

test('a disk that refuses is named as such, the backup stays good, and what was written is taken away', async t => {
  const { data_dir } = await running(t)
  const file = join(directoryFor(t), 'engine.tar')
  await backup(data_dir, file)
  const target = directoryFor(t)
  // A file where a folder has to be: refused to every user, root too.
  writeFileSync(join(target, 'artifacts'), 'no folder')
  assert.throws(() => restore(target, file), { code: 'restore_failed', message: /artifacts/ })
  assert.deepEqual(readdirSync(target), ['artifacts'])
  rmSync(join(target, 'artifacts'))
  restore(target, file)
  assert.throws(() => restore(join(target, 'other'), join(target, 'none.tar')), {
    code: 'backup_unreadable',
    message: /none\.tar/,
  })
  assert.equal(existsSync(join(target, 'other')), false)
  await assert.rejects(backup(data_dir, join(target, 'none', 'engine.tar')), { code: 'backup_failed' })
})

test('a disk that is full, or takes no longer files, keeps nothing of a restore and nothing of a backup', async t => {
  const { data_dir } = await running(t)
  const file = join(directoryFor(t), 'engine.tar')
  await backup(data_dir, file)
  const target = directoryFor(t)
  await t.test('files of a bounded length', async t => {
    if (!limitFiles(50_000)) return t.skip('needs prlimit')
    try {
      assert.throws(() => restore(target, file), { code: 'restore_failed', message: /EFBIG/ })
      assert.deepEqual(readdirSync(target), [])
    } finally {
      limitFiles(null)
    }
  })
  await t.test('a full disk', async t => {
    const disk = tmpfs(target, '128k')
    if (disk === null) return t.skip('needs the right to mount')
    try {
      assert.throws(() => restore(target, file), { code: 'restore_failed', message: /disk is full.*ENOSPC/ })
      assert.deepEqual(readdirSync(target), [])
      await assert.rejects(backup(data_dir, join(target, 'engine.tar')), { code: 'backup_failed' })
      assert.deepEqual(readdirSync(target), [])
    } finally {
      disk.unmount()
    }
  })
  restore(target, file)
})

test('an engine is backed up while it serves, and what is restored serves the same', async t => {
  const engine = await RealEngine.start(t)
  const cwd = directoryFor(t)
  const file = join(cwd, 'engine.tar')
  await engine.save(
    'boiler',
    flowOf(body('twice', 'export default ({ x }) => ({ y: 2 * x })', { reads: ['x'], makes: ['y'] })),
  )
  const bytes = randomBytes(300_000)
  const authorization = { authorization: `Bearer ${engine.token}` }
  const stored = await fetch(`${engine.url}/artifacts`, { method: 'PUT', headers: authorization, body: bytes })
  const { digest } = (await stored.json()) as { digest: string }
  for (let x = 1; x <= 50; x++) await engine.publish('boiler.x', x, { durable: true })
  await engine.value('boiler.y', 100)
  await engine.ask('POST', '/messages/boiler.x', { value: 51, durable: true })
  await engine.value('boiler.y', 102)
  const { json: run } = await engine.ask('POST', '/runs/flows/boiler', { inputs: { x: 21 } })
  const ended = await eventually('the run ends', async () => {
    const { json } = await engine.ask('GET', `/runs/${run.id}`)
    return json.status === 'succeeded' ? json : null
  })
  const before = await engine.history('boiler.x')
  // It goes on writing meanwhile: what comes now may be in the backup or not.
  let isWriting = true
  const writing = (async () => {
    for (let x = 52; isWriting; x++) await engine.publish('boiler.x', x)
  })()
  const svc = (...argv: string[]) => Spawned.svc(t, { cwd, argv }).ended
  const taken = await svc('backup', file, '--data-dir', engine.data_dir)
  isWriting = false
  await writing
  assert.equal(taken.code, 0)
  await engine.stop()

  const data_dir = join(cwd, 'restored')
  assert.equal((await svc('restore', file, '--data-dir', data_dir)).code, 0)
  const again = await RealEngine.start(t, { data_dir })
  const points = (await again.history('boiler.x')).items
  assert.deepEqual(points.slice(0, before.items.length), before.items)
  const last = await again.message('boiler.x')
  assert.equal(last.version, points.length)
  await again.value('boiler.y', 2 * (last.value as number))
  const { json: found } = await again.ask('GET', `/runs/${run.id}`)
  assert.deepEqual([found.status, found.result], [ended.status, ended.result])
  const headers = { authorization: `Bearer ${again.token}` }
  const answer = await fetch(`${again.url}/artifacts/${digest}`, { headers })
  assert.deepEqual(Buffer.from(await answer.arrayBuffer()), bytes)
  await again.publish('boiler.x', 1_000, { durable: true })
  await again.value('boiler.y', 2_000)
  await again.stop()
})

test('svc restore says in a sentence what the disk refused, and leaves no folder behind', async t => {
  const { data_dir } = await running(t)
  const cwd = directoryFor(t)
  const file = join(cwd, 'engine.tar')
  await backup(data_dir, file)
  writeFileSync(join(cwd, 'no-folder'), '')
  const refused = Spawned.svc(t, { cwd, argv: ['restore', file, '--data-dir', join(cwd, 'no-folder', 'data')] })
  assert.equal((await refused.ended).code, 3)
  assert.match(refused.stderr, /no-folder.*Nothing was restored, and the backup is whole/)
  const unread = Spawned.svc(t, { cwd, argv: ['restore', join(cwd, 'none.tar'), '--data-dir', join(cwd, 'data')] })
  assert.equal((await unread.ended).code, 3)
  assert.match(unread.stderr, /none\.tar/)
  assert.equal(existsSync(join(cwd, 'data')), false)
})
