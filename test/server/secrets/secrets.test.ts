import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FlowNode } from '../../../protocol/nouns/flow-document.ts'
import { secretsOver } from '../../kit/secrets.ts'

const page = { limit: 100, offset: 0 }
const code = (id: string, source: string, settings: Record<string, unknown> = {}): FlowNode => ({
  id,
  type: 'code',
  source,
  settings,
  ports: {},
})

test('what is stored opens again under its name, and no row holds the value', async () => {
  const { live, rows, file } = await secretsOver()
  const names = ['a', '../../etc/passwd', 'Ünïcödé 名前', '', ' ', "'; DROP TABLE records; --", '__proto__'].filter(
    Boolean,
  )
  for (const name of names) await live.put(name, `value of ${name}`, 'ada')
  for (const body of rows.rows.values()) assert.doesNotMatch(body, /value of/)
  const again = await secretsOver({ rows, file })
  for (const name of names) assert.equal(again.live.text(name), `value of ${name}`)
  const { items } = await again.live.list(page)
  assert.deepEqual(items.map(({ name }) => name).sort(), [...names].sort())
  assert.ok(items.every(({ updated_by }) => updated_by === 'ada'))
})

test('a row under another name, a changed row and a row of another key file do not open, and say so', async () => {
  const { live, rows, file } = await secretsOver()
  await live.put('one', 'the value of one', 'ada')
  await live.put('two', 'the value of two', 'ada')
  const [first, second] = [...rows.rows.keys()]
  const parsed = [first!, second!].map(id => JSON.parse(rows.rows.get(id)!))
  rows.rows.set(first!, JSON.stringify({ ...parsed[0], sealed: parsed[1].sealed }))
  const swapped = await secretsOver({ rows, file })
  assert.throws(() => swapped.live.text('one'), { code: 'secret_unreadable' })
  assert.equal(swapped.live.text('two'), 'the value of two')
  const elsewhere = await secretsOver({ rows })
  assert.throws(() => elsewhere.live.text('two'), { code: 'secret_unreadable' })
  assert.equal((await elsewhere.live.list(page)).count, 2)
  await elsewhere.live.put('two', 'set again', 'ada')
  assert.equal(elsewhere.live.text('two'), 'set again')
})

test('used_by has nodes whose settings or literals name a secret, and those that asked while they exist', async () => {
  const { live, flow, rows, file } = await secretsOver()
  for (const name of ['key', 'it\'s "quoted"', 'made up', 'free']) await live.put(name, 'some value', 'ada')
  flow('f', {
    nodes: [
      code('single', `export default async (_, ctx) => { await ctx.secret( 'key' ) }`),
      code('double', 'export default async (_, ctx) => { await ctx.secret("it\'s \\"quoted\\"") }'),
      code('template', 'export default async (_, { secret }) => { await secret(`key`) }'),
      code('setting', 'export default () => {}', { deep: [{ at: { secret: 'key' } }] }),
      code('dynamic', 'export default async ({ x }, ctx) => { await ctx.secret("made" + x) }'),
      code('near', 'export default ({ secrets }) => secrets("free") ?? mysecret("free")'),
    ],
  })
  const used = async (of = live) =>
    Object.fromEntries((await of.list(page)).items.map(({ name, used_by }) => [name, used_by]))
  assert.deepEqual(await used(), {
    key: ['f.setting', 'f.single', 'f.template'],
    'it\'s "quoted"': ['f.double'],
    'made up': [],
    free: [],
  })
  assert.equal(live.asked('f.dynamic', 'made up'), 'some value')
  assert.equal(live.asked('f.dynamic', 'nowhere'), null)
  assert.deepEqual((await used())['made up'], ['f.dynamic'])
  await assert.rejects(live.remove('made up'), { code: 'secret_in_use', message: /"f\.dynamic"/ })
  const dynamic = { id: 'dynamic', settings: {}, source: null }
  assert.deepEqual(live.usedBy('f', dynamic), [['made up', live.version('made up')]])
  const again = await secretsOver({ rows, file })
  again.flow('f', { nodes: [code('dynamic', 'export default () => {}')] })
  assert.deepEqual((await used(again.live))['made up'], ['f.dynamic'])
  again.flow('f', { nodes: [] })
  await again.live.remove('made up')
  await assert.rejects(again.live.remove('made up'), { code: 'secret_not_found' })
})

test('the version of a secret changes with its value alone, and whoever follows values hears of that', async () => {
  const { live, changed } = await secretsOver()
  await live.put('key', 'one value', 'ada')
  const first = live.version('key')
  await live.put('key', 'one value', 'bob')
  assert.equal(live.version('key'), first)
  await live.put('key', 'another', 'bob')
  const second = live.version('key')
  await live.remove('key')
  await live.put('key', 'one value', 'bob')
  assert.equal(new Set([first, second, live.version('key')]).size, 3)
  assert.deepEqual(changed, ['key', 'key', 'key', 'key'])
})

test('a rekey seals every value under a key that was not there before, and the key file keeps the older ones', async () => {
  const { live, rows, file } = await secretsOver()
  for (const name of ['a', 'b', 'c']) await live.put(name, `value of ${name}`, 'ada')
  const old_file = file.text
  const old_rows = new Map(rows.rows)
  assert.equal(await live.rekey(), 3)
  await live.put('d', 'value of d', 'ada')
  const opened = await secretsOver({ rows, file })
  for (const name of ['a', 'b', 'c', 'd']) assert.equal(opened.live.text(name), `value of ${name}`)
  // Whoever has only the key file of before reads nothing of today.
  const thief = await secretsOver({
    rows,
    file: Object.assign(Object.create(Object.getPrototypeOf(file)), { text: old_file }),
  })
  for (const name of ['a', 'b', 'c', 'd']) assert.throws(() => thief.live.text(name), { code: 'secret_unreadable' })
  // A backup of before, beside the key file of today.
  rows.rows.clear()
  for (const [id, body] of old_rows) rows.rows.set(id, body)
  const restored = await secretsOver({ rows, file })
  for (const name of ['a', 'b', 'c']) assert.equal(restored.live.text(name), `value of ${name}`)
})
