import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { limits } from '../../../protocol/limits.ts'
import { Asking } from '../../kit/asking.ts'
import { boiler, type ServedFront, serveFront } from '../../kit/served-front.ts'

let served: ServedFront
let asking: Asking
before(async () => {
  served = await serveFront()
  asking = new Asking(served)
})
after(() => served.close())

describe('flavors over HTTP', () => {
  test('a flavor is created, replaced, listed and removed', async () => {
    const made = await asking.ask('PUT', '/flavors/mine', { body: { cpus: 2, ram: '2G', duration_s: 60 } })
    const mine = { name: 'mine', cpus: 2, gpus: null, ram: 2048, duration_s: 60 }
    assert.deepEqual([made.status, made.json], [200, mine])
    assert.deepEqual((await asking.ask('PUT', '/flavors/yours', { body: {} })).json.cpus, null)
    assert.deepEqual((await asking.ask('GET', '/flavors?limit=1')).json, { items: [mine], count: 2, next: 1 })
    assert.equal(await asking.status('DELETE', '/flavors/yours'), 204)
    assert.equal(await asking.code('DELETE', '/flavors/yours'), 'flavor_not_found')
  })

  test('what is no amount is refused, and named', async () => {
    for (const body of [{ cpus: 0 }, { cpus: '2' }, { gpus: 0.5 }, { ram: -1 }, { duration_s: -1 }, { more: 1 }, []])
      assert.equal(await asking.code('PUT', '/flavors/mine', { body }), 'validation', JSON.stringify(body))
    const half = await asking.ask('PUT', '/flavors/mine', { body: { gpus: 0.5 } })
    assert.match(JSON.stringify(half.json.errors), /"body\.gpus".*not 0\.5/)
    const { json } = await asking.ask('PUT', '/flavors/mine', { body: { ram: '2 GB' } })
    assert.deepEqual([json.code, json.errors[0].loc], ['bad_resources', 'body.ram'])
    assert.equal(await asking.code('PUT', '/flavors/9lives', { body: {} }), 'validation')
    assert.equal(await asking.code('DELETE', '/flavors/9lives'), 'flavor_not_found')
    assert.equal(await asking.code('GET', `/flavors?limit=${limits.LIST_LIMIT + 1}`), 'validation')
  })

  test('one that a node asks for is not removed, and the node is named', async () => {
    const [node] = boiler.nodes
    const document = { ...boiler, nodes: [{ ...node, resources: { flavor: 'mine' } }] }
    await asking.ask('PUT', '/flows/press', { body: { document } })
    const { status, json } = await asking.ask('DELETE', '/flavors/mine')
    assert.deepEqual([status, json.code], [409, 'flavor_in_use'])
    assert.match(json.detail, /press\.smoother/)
  })
})

test('the books are read over HTTP: who holds what since when, and who waits for what', async () => {
  const asked = { cpus: 3, gpus: 1, ram_mb: null, flavor: null }
  const holder = served.workers.claim({ device: null, node: 'press.a', run: null, asked })
  const waiter = served.workers.claim({ device: null, node: 'press.b', run: 'r', asked: { ...asked, gpus: 9 } })
  const { json } = await asking.ask('GET', '/workers/resources')
  assert.deepEqual(json.machines[0].free, { cpus: 1, cards: [1], ram_mb: 1000 })
  assert.equal(json.machines[0].held[0].node, 'press.a')
  assert.deepEqual([json.waiting[0].asked.gpus, json.waiting[0].needs.gpus, json.waiting[0].position], [9, 2, 1])
  assert.ok(waiter.cancel())
  await assert.rejects(waiter.promise, { code: 'cancelled' })
  served.workers.release(await holder.promise)
})
