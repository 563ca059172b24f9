import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Asking } from '../../kit/asking.ts'
import { boiler, type ServedFront, serveFront } from '../../kit/served-front.ts'

let served: ServedFront
let asking: Asking
before(async () => {
  served = await serveFront()
  asking = new Asking(served)
})
after(() => served.close())

test('every route that changes documents, code or accounts says what it tells of', () => {
  const silent = served.routes.filter(
    ({ method, scope, audit }) => method !== 'GET' && ['edit', 'code', 'admin'].includes(scope) && audit === null,
  )
  assert.deepEqual(
    silent.map(({ method, path }) => `${method} ${path}`),
    [],
  )
})

test('who saved, renamed and deleted a flow is told, what was refused is not, and no event holds a document', async () => {
  const document = { ...boiler, nodes: [{ ...boiler.nodes[0], source: 'export default () => ({ smooth: 4711 })' }] }
  assert.equal(await asking.status('PUT', '/flows/boiler', { body: { document } }), 200)
  assert.equal(await asking.status('PUT', '/flows/boiler', { body: { document, base_version: 99 } }), 409)
  assert.equal(await asking.status('POST', '/flows/boiler/rename', { body: { to: 'kettle' } }), 200)
  assert.equal(await asking.status('DELETE', '/flows/kettle', { as: 'superuser' }), 204)
  assert.deepEqual(served.audited, [
    { action: 'flow_saved', actor: 'ada', object: 'flow:boiler', address: '127.0.0.1', result: 'ok' },
    { action: 'flow_renamed', actor: 'ada', object: 'flow:boiler', address: '127.0.0.1', result: 'ok' },
    { action: 'flow_deleted', actor: 'root', object: 'flow:kettle', address: '127.0.0.1', result: 'ok' },
  ])
})
