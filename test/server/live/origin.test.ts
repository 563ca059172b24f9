import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RealEngine } from '../../kit/real-engine.ts'

const origin = (commit: string) => ({ repository: 'git@example.org:plant.git', commit, digests: { scale: 'ab' } })
const document = (times: number) => ({
  nodes: [
    {
      id: 'scale',
      type: 'code',
      source: `export default ({ x }: { x: number }) => ({ y: x * ${times} })`,
      ports: { inputs: [{ name: 'x', dtype: 'float' }], outputs: [{ name: 'y', dtype: 'float' }] },
    },
  ],
  inputs: [{ message: 'x', dtype: 'float' }],
})

test('a flow that is defined in code stays so when it is edited by hand, until somebody takes its origin away', async t => {
  const engine = await RealEngine.start(t)
  const put = async (body: object) => assert.equal((await engine.ask('PUT', '/flows/work', body)).status, 200)
  const kept = async () => (await engine.flow('work')).origin
  await put({ document: document(1) })
  assert.equal(await kept(), null)

  await put({ document: document(2), origin: origin('c0ffee') })
  const { commit } = await engine.flow('work')
  await put({ document: document(3) })
  assert.deepEqual(await kept(), origin('c0ffee'))
  await put({ document: document(4), origin: origin('facade-dirty') })
  assert.deepEqual(await kept(), origin('facade-dirty'))

  await engine.ask('POST', '/flows/work/rename', { to: 'plant' })
  assert.deepEqual((await engine.flow('plant')).origin, origin('facade-dirty'))
  await engine.ask('POST', '/flows/plant/restore', { commit })
  assert.deepEqual((await engine.flow('plant')).origin, origin('c0ffee'), 'a restored version has its own')
  assert.deepEqual((await engine.ask('GET', `/flows/plant/history/${commit}`)).json.origin, origin('c0ffee'))

  await engine.ask('PUT', '/flows/plant', { document: document(5), origin: null })
  assert.equal((await engine.flow('plant')).origin, null)
  assert.equal((await engine.ask('PUT', '/flows/plant', { document: document(5), origin: {} })).status, 422)
})
