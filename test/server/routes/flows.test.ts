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

describe('flows over HTTP', () => {
  test('a flow is created, read, replaced and removed', async () => {
    const made = await asking.ask('POST', '/flows', { body: { name: 'boiler', document: boiler } })
    assert.deepEqual([made.status, made.headers.get('location')], [201, '/flows/boiler'])
    assert.deepEqual(made.json.restarted, ['smoother'])
    assert.equal((await asking.ask('GET', '/flows/boiler')).json.updated_by, 'ada')
    const saved = await asking.ask('PUT', '/flows/boiler', {
      body: { document: boiler, base_version: 1, message: 'again' },
    })
    assert.deepEqual([saved.status, saved.json.version], [200, 2])
    assert.deepEqual((await asking.ask('GET', '/flows')).json.count, 1)
    assert.equal(await asking.status('DELETE', '/flows/boiler'), 204)
    assert.equal(await asking.code('GET', '/flows/boiler'), 'flow_not_found')
    assert.equal(await asking.code('DELETE', '/flows/boiler'), 'flow_not_found')
  })

  test('PUT creates too', async () => {
    assert.equal((await asking.ask('PUT', '/flows/press', { body: { document: boiler } })).json.version, 1)
  })

  test('conflicts are 409 with their own codes', async () => {
    assert.equal(await asking.code('POST', '/flows', { body: { name: 'press', document: boiler } }), 'flow_exists')
    assert.equal(
      await asking.code('PUT', '/flows/press', { body: { document: boiler, base_version: 7 } }),
      'stale_version',
    )
    await asking.ask('PUT', '/flows/mill', { body: { document: boiler } })
    assert.equal(await asking.code('POST', '/flows/mill/rename', { body: { to: 'press' } }), 'flow_exists')
  })

  test('a flow is renamed, disabled and enabled', async () => {
    assert.equal((await asking.ask('POST', '/flows/mill/rename', { body: { to: 'grinder' } })).json.name, 'grinder')
    assert.equal(await asking.code('GET', '/flows/mill'), 'flow_not_found')
    assert.equal(await asking.status('POST', '/flows/grinder/disable'), 200)
    assert.equal((await asking.ask('GET', '/flows/grinder')).json.enabled, false)
    assert.equal(await asking.status('POST', '/flows/grinder/enable'), 200)
    assert.equal((await asking.ask('GET', '/flows/grinder')).json.enabled, true)
  })

  test('a purge answers how much it dropped', async () => {
    await asking.ask('PUT', '/flows/sieve', { body: { document: boiler } })
    assert.deepEqual((await asking.ask('POST', '/flows/sieve/purge')).json, { name: 'sieve', dropped: 0 })
    assert.equal(await asking.code('POST', '/flows/nobody/purge'), 'flow_not_found')
  })

  test('the history of a flow is read commit by commit, and one is restored', async () => {
    await asking.ask('PUT', '/flows/oven', { body: { document: { nodes: [] } } })
    await asking.ask('PUT', '/flows/oven', { body: { document: boiler } })
    const { items, count } = (await asking.ask('GET', '/flows/oven/history')).json
    assert.deepEqual([count, items.length, items[0].version], [2, 2, 2])
    assert.deepEqual((await asking.ask('GET', '/flows/oven/history?limit=1&offset=1')).json.items, [items[1]])
    const first = (await asking.ask('GET', `/flows/oven/history/${items[1].commit}`)).json
    assert.deepEqual(first.document, { nodes: [] })
    assert.equal(
      (await asking.ask('POST', '/flows/oven/restore', { body: { commit: items[1].commit } })).json.version,
      3,
    )
    assert.deepEqual((await asking.ask('GET', '/flows/oven')).json.document, { nodes: [] })
    const nowhere = 'f'.repeat(64)
    assert.equal(await asking.code('GET', `/flows/oven/history/${nowhere}`), 'commit_not_found')
    assert.equal(await asking.code('GET', '/flows/oven/history/latest'), 'commit_not_found')
    assert.equal(await asking.code('POST', '/flows/oven/restore', { body: { commit: nowhere } }), 'commit_not_found')
  })

  test('the source of a node says whether it is the template', async () => {
    assert.deepEqual((await asking.ask('GET', '/flows/press/nodes/smoother/source')).json, {
      source: boiler.nodes[0].source,
      missing: false,
    })
    assert.equal(await asking.code('GET', '/flows/press/nodes/other/source'), 'node_not_found')
    assert.equal(await asking.code('GET', '/flows/press/nodes/no%20name/source'), 'node_not_found')
  })

  test('a path that names nothing is 404, whether its name could be one or not', async () => {
    for (const name of ['nothing', '1st', 'a.b', 'a%20b', '%00', 'x'.repeat(65), '__proto__', '%ff', '%']) {
      for (const rest of ['', '/history', '/nodes/n/source']) {
        assert.equal(await asking.status('GET', `/flows/${name}${rest}`), 404, name + rest)
      }
      assert.equal(await asking.status('POST', `/flows/${name}/enable`), 404, name)
      assert.equal(await asking.status('DELETE', `/flows/${name}`), 404, name)
    }
  })

  test('a malformed name of something to be created is 422 at its place', async () => {
    const put = await asking.problem('PUT', '/flows/1st', { body: { document: boiler } })
    assert.deepEqual([put.code, put.errors[0]!.loc], ['validation', 'path.name'])
    const post = await asking.problem('POST', '/flows', { body: { name: 'a.b', document: boiler } })
    assert.deepEqual([post.code, post.errors[0]!.loc], ['validation', 'body.name'])
    const rename = await asking.problem('POST', '/flows/press/rename', { body: { to: '' } })
    assert.deepEqual([rename.code, rename.errors[0]!.loc], ['validation', 'body.to'])
  })

  test('a document is refused at every place that is wrong', async () => {
    const document = {
      nodes: [
        { id: 'a', type: 'code', ports: { outputs: [{ name: 'y', dtype: 'flot' }] } },
        { id: 'b', type: 'code', ports: {}, colour: 'red' },
      ],
    }
    const { errors } = await asking.problem('PUT', '/flows/wrong', { body: { document } })
    assert.deepEqual(errors.map(({ loc }) => loc).sort(), [
      'body.document.nodes[0].ports.outputs[0].dtype',
      'body.document.nodes[1].colour',
    ])
    assert.equal(await asking.code('GET', '/flows/wrong'), 'flow_not_found')
  })

  test('what only the engine can see is named at its place in the body too', async () => {
    const node = { id: 'twin', type: 'code', ports: {} }
    for (const [method, path, more] of [
      ['PUT', '/flows/twins', {}],
      ['POST', '/flows', { name: 'twins' }],
    ] as const) {
      const problem = await asking.problem(method, path, { body: { ...more, document: { nodes: [node, node] } } })
      assert.deepEqual(
        [problem.code, problem.errors],
        ['duplicate_name', [{ loc: 'body.document.nodes[1].id', msg: 'is taken' }]],
      )
    }
  })

  test('a document may be larger than other bodies, up to its own bound', async () => {
    const long = { nodes: [], inputs: [{ message: 'm', dtype: 'str', default: 'x'.repeat(limits.BODY_BYTES) }] }
    assert.equal(await asking.status('PUT', '/flows/long', { body: { document: long } }), 200)
    const longer = { ...long, inputs: [{ message: 'm', dtype: 'str', default: 'x'.repeat(limits.FLOW_BODY_BYTES) }] }
    assert.equal(await asking.code('PUT', '/flows/long', { body: { document: longer } }), 'too_large')
  })
})
