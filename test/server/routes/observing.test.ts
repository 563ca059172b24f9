import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { ServiceError } from '../../../protocol/errors.ts'
import { VERSION } from '../../../protocol/version.ts'
import { Asking } from '../../kit/asking.ts'
import { boiler, type ServedFront, serveFront } from '../../kit/served-front.ts'

let served: ServedFront
let asking: Asking
before(async () => {
  served = await serveFront()
  asking = new Asking(served)
  await asking.ask('PUT', '/flows/boiler', { body: { document: boiler } })
})
after(() => served.close())

describe('looking at the engine', () => {
  test('health needs no credential and fails when a dependency does not answer', async () => {
    assert.deepEqual((await asking.ask('GET', '/utils/health/', { as: 'nobody' })).json, { status: 'ok' })
    served.engine.broken = new ServiceError('store_failed', 'The store thread is silent.')
    const refused = await asking.problem('GET', '/utils/health/', { as: 'nobody' })
    served.engine.broken = new TypeError('a defect')
    const defect = await asking.problem('GET', '/utils/health/', { as: 'nobody' })
    served.engine.broken = null
    assert.deepEqual([refused.code, refused.status, defect.code], ['unhealthy', 503, 'unhealthy'])
    assert.match(refused.detail, /store thread/)
    assert.doesNotMatch(defect.detail, /defect$/)
  })

  test('the summary names the version', async () => {
    assert.equal((await asking.ask('GET', '/observability/summary')).json.version, VERSION)
  })

  test('the time series is a list of points', async () => {
    assert.equal((await asking.ask('GET', '/observability/timeseries?hours=0&bucket_s=60')).json.length, 1)
  })

  test('audit events are for superusers', async () => {
    assert.equal(await asking.code('GET', '/events?type=audit'), 'forbidden')
    assert.equal(await asking.status('GET', '/events?type=audit', { as: 'superuser' }), 200)
  })

  test('events are listed and filtered', async () => {
    const { items, count } = (await asking.ask('GET', '/events?flow=boiler&type=flow_saved&limit=5')).json
    assert.deepEqual([count, items[0].type, items[0].flow], [1, 'flow_saved', 'boiler'])
    assert.equal((await asking.problem('GET', '/events?type=nonsense')).errors[0]!.loc, 'query.type')
  })

  test('cascades are listed, and one is read', async () => {
    const { id } = served.engine.ran('boiler', 'boiler.raw')
    assert.equal((await asking.ask('GET', '/cascades?flow=boiler&status=succeeded')).json.items[0].id, id)
    assert.equal((await asking.ask('GET', `/cascades/${id}`)).json.root, 'boiler.raw')
    assert.equal(await asking.code('GET', '/cascades/019b0000-0000-7000-8000-ffffffffffff'), 'cascade_not_found')
    assert.equal(await asking.code('GET', '/cascades/1'), 'cascade_not_found')
    assert.equal((await asking.problem('GET', '/cascades?status=done')).errors[0]!.loc, 'query.status')
  })

  test('a cascade runs again, unless it has succeeded', async () => {
    const { id } = served.engine.ran('boiler', 'boiler.raw')
    assert.equal(await asking.code('POST', `/cascades/${id}/rerun`), 'cascade_succeeded')
    const failed = { ...served.engine.ran('boiler', 'boiler.raw') }
    served.engine.fails(failed.id)
    const { status, json } = await asking.ask('POST', `/cascades/${failed.id}/rerun`)
    assert.deepEqual(
      [status, json],
      [202, { rerun_of: failed.id, flow: 'boiler', root: 'boiler.raw', root_version: 1 }],
    )
    assert.equal(await asking.code('POST', '/cascades/019b0000-0000-7000-8000-ffffffffffff/rerun'), 'cascade_not_found')
  })

  test("a node's errors are read and acknowledged", async () => {
    served.engine.fail('boiler.smoother', 'division by zero')
    const before = (await asking.ask('GET', '/nodes/boiler.smoother/errors')).json
    assert.deepEqual([before.count, before.items[0].acknowledged], [1, false])
    assert.equal(await asking.status('POST', '/nodes/boiler.smoother/acknowledge'), 204)
    assert.equal((await asking.ask('GET', '/nodes/boiler.smoother/errors')).json.items[0].acknowledged, true)
    assert.equal(await asking.code('GET', '/nodes/boiler.other/errors'), 'node_not_found')
    assert.equal(await asking.code('POST', '/nodes/boiler.a.b/acknowledge'), 'node_not_found')
    assert.equal(await asking.status('GET', '/nodes/boiler/errors'), 404)
  })

  test('a node tells its counts and latencies to any user', async () => {
    const { name, since_start, wires } = (await asking.ask('GET', '/nodes/boiler.smoother')).json
    assert.deepEqual([name, since_start.wait, wires], ['boiler.smoother', null, []])
    assert.equal(await asking.code('GET', '/nodes/boiler.other'), 'node_not_found')
  })

  test('the figures are Prometheus text', async () => {
    assert.match((await asking.ask('GET', '/metrics')).text, /^# TYPE/)
  })

  test('modules are refreshed', async () => {
    assert.equal(await asking.status('POST', '/modules/refresh'), 204)
    assert.equal(served.engine.refreshed, 1)
  })

  test('a defect is 500, tells nothing, and is logged', async () => {
    served.engine.broken = new TypeError('cannot read properties of undefined')
    const problem = await asking.problem('GET', '/observability/summary')
    served.engine.broken = null
    assert.equal(problem.code, 'internal')
    assert.doesNotMatch(JSON.stringify(problem), /undefined/)
    assert.match(served.log.errors.at(-1)!, /request_failed TypeError: cannot read/)
  })
})

describe('every integer of a query is bounded on both sides', () => {
  test('one below and one above each bound is refused, and each bound is taken', async () => {
    let checked = 0
    const { run } = await served.engine.runs.create('boiler', {}, 'tests')
    await served.dashboards.save('boiler', { locked: false, tiles: [] }, undefined, 'tests')
    for (const route of served.routes) {
      const path = route.path
        .replace('{name}', route.path.startsWith('/messages') ? 'boiler.raw' : 'boiler')
        .replace('{flow}.{node}', 'boiler.smoother')
        .replace('{id}', run.id)
      for (const [name, schema] of Object.entries(route.query?.properties ?? {})) {
        const { type, minimum, maximum } = schema as { type?: string; minimum?: number; maximum?: number }
        if (type !== 'integer' && type !== 'number') continue
        assert.ok(minimum !== undefined && maximum !== undefined, `${route.path} ${name}`)
        const as = route.scope === 'admin' ? 'superuser' : 'user'
        // A version means nothing without its time.
        const until = name === 'until_version' ? '&until=2026-01-01T00:00:00Z' : ''
        const { properties, required = [] } = route.query as unknown as { properties: object; required?: string[] }
        const needed = required.filter(each => !('default' in (properties as Record<string, object>)[each]!))
        const beside = until + needed.map(each => (each === name ? '' : `&${each}=boiler`)).join('')
        for (const value of [minimum, maximum])
          assert.equal(
            await asking.status(route.method, `${path}?${name}=${value}${beside}`, { as }),
            200,
            `${path} ${name}`,
          )
        for (const value of [
          minimum - 1,
          maximum + 1,
          '',
          'x',
          '1e3',
          '0x10',
          ' 5',
          '5 ',
          '9'.repeat(40),
          'NaN',
          '-0x1',
        ]) {
          if (type === 'number' && value === '1e3') continue
          const target = `${path}?${name}=${encodeURIComponent(value)}${beside}`
          const problem = await asking.problem(route.method, target, { as })
          assert.deepEqual([problem.code, problem.errors[0]!.loc], ['validation', `query.${name}`], target)
          checked++
        }
      }
      if (route.method !== 'GET' || route.path.includes('{') || route.scope === 'open') continue
      const as = route.scope === 'admin' ? 'superuser' : 'user'
      if (route.query === null) assert.match(await asking.text422(`${path}?x=1`, as), /query\.x/)
      else assert.match(await asking.text422(`${path}?unknown=1`, as), /query\.unknown/)
    }
    assert.ok(checked > 80)
  })

  test('times need an offset', async () => {
    for (const time of ['yesterday', '2026-01-01', '2026-01-01T00:00:00', '1767225600']) {
      const problem = await asking.problem('GET', `/events?since=${time}`)
      assert.deepEqual([problem.code, problem.errors[0]!.loc], ['validation', 'query.since'], time)
    }
    for (const time of ['2026-01-01T00:00:00Z', '2026-01-01T00:00:00%2B02:00', '2026-01-01T00:00:00.123456+02:00'])
      assert.equal(await asking.status('GET', `/cascades?since=${time}&before=${time}`), 200, time)
  })

  test('a member that stands there twice, or is no UTF-8, is refused', async () => {
    assert.equal((await asking.problem('GET', '/flows?limit=1&limit=1')).errors[0]!.msg, 'is given twice')
    assert.equal((await asking.problem('GET', '/flows?limit=%ff')).errors[0]!.loc, 'query')
  })
})
