import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import Database from 'better-sqlite3'
import { backup, restore } from '../../../../server/installation/backup/backup.ts'
import { Installation } from '../../../../server/installation/installation.ts'
import { artifactPath } from '../../../../threads/calls/artifact-files.ts'
import { directoryFor } from '../../../kit/spawned.ts'
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
  await store.users.put({ name: 'ada', password_hash: '$argon2id$secret', superuser: true, create: true })
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
