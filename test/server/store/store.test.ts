import assert from 'node:assert/strict'
import { test } from 'node:test'
import { documentOfPieces } from '../../../core/flow/document-text.ts'
import { finish } from '../../../core/steps.ts'
import type { ServiceError } from '../../../protocol/errors.ts'
import { profile } from '../../../test/kit/profile.ts'
import { emptyDocument, saving, startStore, temporaryDirectory } from '../../kit/stored.ts'

const refusedWith = (code: string, words: RegExp) => (error: ServiceError) => {
  assert.equal(error.code, code)
  assert.match(error.detail, words)
  return true
}

test('a saved flow is there after the next start, with its version counted from 1', async t => {
  const data_dir = temporaryDirectory(t)
  const first = await startStore(t, data_dir)
  assert.equal(first.loaded.engine_epoch, 1)
  assert.deepEqual(first.loaded.flows, [])
  const one = await first.store.saveFlow(saving('boiler', { base_version: 0 }))
  assert.equal(one.version, 1)
  const document = { nodes: [], inputs: [{ message: 'raw', dtype: 'float' as const }] }
  const two = await first.store.saveFlow(saving('boiler', { document, base_version: 1, message: 'an input' }))
  assert.equal(two.version, 2)
  assert.notEqual(two.commit, one.commit)
  assert.ok(two.at > one.at)
  await first.close()
  const second = await startStore(t, data_dir)
  assert.equal(second.loaded.engine_epoch, 2)
  assert.deepEqual(
    second.loaded.flows.map(({ name, version, commit, document, enabled, updated_by }) => ({
      name,
      version,
      commit,
      document,
      enabled,
      updated_by,
    })),
    [{ name: 'boiler', version: 2, commit: two.commit, document, enabled: true, updated_by: 'ada' }],
  )
})

test('a save on a stale version is refused, names both versions, and leaves its neighbours in the same commit alone', async t => {
  const { store } = await startStore(t, temporaryDirectory(t))
  await store.saveFlow(saving('boiler'))
  await store.saveFlow(saving('boiler'))
  const [before, stale, after] = await Promise.allSettled([
    store.saveFlow(saving('before')),
    store.saveFlow(saving('boiler', { base_version: 1 })),
    store.saveFlow(saving('after')),
  ])
  assert.equal(before.status, 'fulfilled')
  assert.equal(after.status, 'fulfilled')
  assert.ok(stale.status === 'rejected' && refusedWith('stale_version', /version 2.*version 1/)(stale.reason))
})

test('a store that does not answer acknowledges nothing new and says so; what waits gets its answer, and then it goes on', async t => {
  const { store } = await startStore(t, temporaryDirectory(t))
  const waits = store.saveFlow(saving('waits'))
  store.silent(30_000)
  await assert.rejects(store.saveFlow(saving('refused')), refusedWith('store_silent', /has not answered for 30 s/))
  assert.equal((await waits).version, 1)
  await store.ping()
  store.answers()
  assert.equal((await store.saveFlow(saving('refused'))).version, 1)
})

test('a deleted flow is gone, its commits stay, and saving it again goes on counting', async t => {
  const data_dir = temporaryDirectory(t)
  const first = await startStore(t, data_dir)
  const { store } = first
  const document = { nodes: [], inputs: [{ message: 'raw', dtype: 'float' as const }] }
  const saved = await store.saveFlow(saving('boiler', { document }))
  await store.deleteFlow({ name: 'boiler', author: 'bob' })
  await assert.rejects(store.deleteFlow({ name: 'boiler', author: 'bob' }), refusedWith('flow_not_found', /boiler/))
  const { items, count } = await store.commits('boiler', { limit: 10, offset: 0 })
  assert.equal(count, 2)
  assert.deepEqual(
    items.map(item => item.action),
    ['delete', 'save'],
  )
  assert.deepEqual(finish(documentOfPieces((await store.commit('boiler', saved.commit)).document!)), document)
  const detail = JSON.parse(Buffer.from(await store.commitText('boiler', saved.commit)).toString())
  assert.deepEqual([detail.document, detail.diff], [document, [{ path: '', after: document }]])
  const again = await store.saveFlow(saving('boiler', { document, action: 'restore', base_version: 0 }))
  assert.equal(again.version, 2)
  await first.close()
  const { loaded } = await startStore(t, data_dir)
  assert.deepEqual(
    loaded.flows.map(flow => flow.name),
    ['boiler'],
  )
})

test('enabling and disabling make commits of the same version', async t => {
  const { store } = await startStore(t, temporaryDirectory(t))
  await store.saveFlow(saving('boiler'))
  const off = await store.setEnabled({ name: 'boiler', enabled: false, author: 'ada' })
  assert.equal(off.version, 1)
  const { items } = await store.commits('boiler', { limit: 10, offset: 0 })
  assert.deepEqual(
    items.map(({ action, version }) => [action, version]),
    [
      ['disable', 1],
      ['save', 1],
    ],
  )
})

test('a rename takes values, states, held values and history along, and rewrites other flows in the same step', async t => {
  const data_dir = temporaryDirectory(t)
  const first = await startStore(t, data_dir)
  const { store, journal } = first
  await store.saveFlow(saving('boiler'))
  await store.saveFlow(saving('panel'))
  journal.declare('boiler.raw', 'float')
  for (let i = 1; i <= 5; i++) journal.publish('boiler.raw', i / 2, 1000 * i)
  journal.hold('boiler.raw', 5_000, 5000, 9)
  journal.state('boiler.smooth', { sum: 3 })
  journal.writer.mark()
  const renamed = await store.renameFlow({
    from: 'boiler',
    to: 'kettle',
    rewritten: [{ name: 'panel', document: JSON.stringify(emptyDocument) }],
    author: 'ada',
  })
  assert.equal(renamed.version, 2)
  assert.deepEqual(
    renamed.rewritten.map(({ name, version }) => [name, version]),
    [['panel', 2]],
  )
  journal.publish('boiler.raw', 99, 6000)
  await store.flush()
  const history = await store.history({ name: 'kettle.raw', since: null, until: null, limit: 100, bucket_s: null })
  assert.deepEqual(
    history.items.map(item => 'value' in item && item.value),
    [0.5, 1, 1.5, 2, 2.5, 99],
  )
  await first.close()
  const { loaded } = await startStore(t, data_dir)
  assert.deepEqual(
    loaded.flows.map(flow => flow.name),
    ['kettle', 'panel'],
  )
  assert.deepEqual(
    loaded.values.map(({ name, version, number }) => [name, version, number]),
    [['kettle.raw', 6, 99]],
  )
  assert.deepEqual(
    loaded.states.map(state => state.node),
    ['kettle.smooth'],
  )
  assert.deepEqual(
    loaded.held.map(({ name, due_ms, number }) => [name, due_ms, number]),
    [['kettle.raw', 5000, 9]],
  )
})

test('users are kept, counted, and refused twice', async t => {
  const { store } = await startStore(t, temporaryDirectory(t))
  const ada = await store.users.put({ name: 'ada', password_hash: 'x', ...profile('superuser'), create: true })
  assert.equal(ada.role, 'superuser')
  await assert.rejects(
    store.users.put({ name: 'ada', password_hash: 'y', ...profile('editor'), create: true }),
    refusedWith('user_exists', /ada/),
  )
  await store.users.put({ name: 'ada', password_hash: 'z', ...profile('superuser'), create: false })
  assert.equal((await store.users.get('ada'))!.password_hash, 'z')
  assert.equal(await store.users.count(), 1)
  assert.equal(await store.users.delete('ada'), true)
  assert.equal(await store.users.get('ada'), null)
})
