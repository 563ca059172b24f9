import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startStore, temporaryDirectory } from '../../kit/stored.ts'

test('records are set and removed together, and are there after the next start', async t => {
  const data_dir = temporaryDirectory(t)
  const first = await startStore(t, data_dir)
  await first.store.records.write([
    { kind: 'client', id: 'b', body: '{"name":"b"}' },
    { kind: 'client', id: 'a', body: '{"name":"a"}' },
    { kind: 'panel', id: 'a', body: '{"name":"a screen"}' },
  ])
  await first.store.records.write([
    { kind: 'client', id: 'b', body: '{"name":"another"}' },
    { kind: 'panel', id: 'a', body: null },
  ])
  await first.close()
  const second = await startStore(t, data_dir)
  assert.deepEqual(await second.store.records.list('client'), [
    { id: 'a', body: '{"name":"a"}' },
    { id: 'b', body: '{"name":"another"}' },
  ])
  assert.deepEqual(await second.store.records.list('panel'), [])
})

test('a range of records comes from either end, by its bounds', async t => {
  const { store } = await startStore(t, temporaryDirectory(t))
  const ids = ['x/1', 'x/2', 'x/3', 'y/1']
  await store.records.write(ids.map(id => ({ kind: 'dashboard_version', id, body: '{}' })))
  const range = { from: 'x/', to: 'x0' }
  const found = async (more: { limit?: number; newest_first?: boolean }): Promise<string[]> =>
    (await store.records.list('dashboard_version', { ...range, ...more })).map(({ id }) => id)
  assert.deepEqual(await found({}), ['x/1', 'x/2', 'x/3'])
  assert.deepEqual(await found({ limit: 2, newest_first: true }), ['x/3', 'x/2'])
})
