import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ServiceError } from '../../../../protocol/errors.ts'
import { limits } from '../../../../protocol/limits.ts'
import type { Flavor } from '../../../../protocol/nouns/flavor.ts'
import { Flavors } from '../../../../server/store/catalog/flavors.ts'
import { databaseFile, openWriter } from '../../../../server/store/file/database.ts'
import { migrate } from '../../../../server/store/migrations/migrate.ts'
import { startStore, temporaryDirectory } from '../../../kit/stored.ts'

const names = (flavors: readonly Flavor[]): string[] => flavors.map(({ name }) => name)
const FIRST = ['cpu-large', 'cpu-small', 'gpu-large', 'gpu-small']

test('a new installation begins with four flavors, which can be changed and removed for good', async t => {
  const data_dir = temporaryDirectory(t)
  const first = await startStore(t, data_dir)
  assert.deepEqual(names(first.loaded.flavors), FIRST)
  for (const { name, cpus, gpus, ram } of first.loaded.flavors)
    assert.ok(cpus! > 0 && ram! > 0 && gpus! > 0 === name.startsWith('gpu'), name)
  assert.deepEqual(first.loaded.settings, {}, 'what the store remembers for itself is no setting')
  const mine = { name: 'cpu-small', cpus: 0.5, gpus: null, ram: 100.5, duration_s: 2 }
  assert.deepEqual(await first.store.flavors.put(mine), mine)
  assert.equal(await first.store.flavors.delete('gpu-large'), true)
  assert.equal(await first.store.flavors.delete('gpu-large'), false)
  await first.close()

  const second = await startStore(t, data_dir)
  assert.deepEqual(names(second.loaded.flavors), ['cpu-large', 'cpu-small', 'gpu-small'])
  assert.deepEqual(second.loaded.flavors[1], mine)
  for (const name of names(second.loaded.flavors)) await second.store.flavors.delete(name)
  await second.close()

  assert.deepEqual((await startStore(t, data_dir)).loaded.flavors, [])
})

test('an installation that has flavors of its own gets no others', t => {
  const db = openWriter(databaseFile(temporaryDirectory(t)))
  t.after(() => db.close())
  migrate(db)
  const flavors = new Flavors(db)
  flavors.put({ name: 'mine', cpus: 1, gpus: null, ram: null, duration_s: null })
  flavors.seed()
  assert.deepEqual(names(flavors.list()), ['mine'])
  flavors.delete('mine')
  flavors.seed()
  assert.deepEqual(flavors.list(), [])
})

test('there are so many flavors and no more; each of them can still be changed', t => {
  const db = openWriter(databaseFile(temporaryDirectory(t)))
  t.after(() => db.close())
  migrate(db)
  const flavors = new Flavors(db)
  const flavor = (at: number, cpus = 1): Flavor => ({ name: `f${at}`, cpus, gpus: null, ram: null, duration_s: null })
  db.transaction(() => {
    for (let at = 0; at < limits.FLAVORS; at++) flavors.put(flavor(at))
  })()
  assert.throws(
    () => flavors.put(flavor(limits.FLAVORS)),
    (error: unknown) => error instanceof ServiceError && error.code === 'too_many_flavors',
  )
  flavors.put(flavor(3, 9))
  assert.equal(flavors.list().find(({ name }) => name === 'f3')!.cpus, 9)
})
