import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { limits } from '../../../protocol/limits.ts'
import { Asking, type AskOptions } from '../../kit/asking.ts'
import { boiler, type ServedFront, serveFront } from '../../kit/served-front.ts'

let served: ServedFront
let asking: Asking
const ask = (method: string, path: string, options: AskOptions = {}) => asking.ask(method, path, options)
const create = (body: unknown = {}, headers: Record<string, string> = {}) =>
  ask('POST', '/runs/flows/boiler', { body, headers })

beforeEach(async () => {
  served = await serveFront()
  asking = new Asking(served)
  await ask('PUT', '/flows/boiler', { body: { document: boiler } })
})
afterEach(() => served.close())

describe('POST /runs/flows/{name}', () => {
  test('answers 201 with the run and where it is, and 404 for a flow that is not there', async () => {
    const { status, json, headers } = await create({ inputs: { raw: 1 }, seed: 3, timeout: 1.5, cause: 'cli' })
    assert.deepEqual([status, headers.get('location')], [201, `/runs/${json.id}`])
    assert.deepEqual([json.flow, json.status, json.seed, json.timeout, json.cause], ['boiler', 'queued', 3, 1.5, 'cli'])
    assert.equal((await create()).json.cause, 'api')
    assert.equal((await ask('POST', '/runs/flows/kettle', { body: {} })).json.code, 'flow_not_found')
    assert.equal((await ask('POST', '/runs/flows/no%20name', { body: {} })).json.code, 'flow_not_found')
  })

  test('a key in the header and one in the body are one key; two different ones are refused', async () => {
    const first = await create({ inputs: { raw: 1 } }, { 'idempotency-key': 'k' })
    assert.deepEqual([first.status, first.headers.get('idempotency-replayed')], [201, null])
    const again = await create({ inputs: { raw: 1 }, idempotency_key: 'k' })
    assert.deepEqual(
      [
        again.status,
        again.json.id,
        again.headers.get('idempotency-replayed'),
        again.headers.get('idempotency-mismatch'),
      ],
      [200, first.json.id, 'true', null],
    )
    const other = await create({ inputs: { raw: 2 }, idempotency_key: 'k' }, { 'idempotency-key': 'k' })
    assert.deepEqual([other.status, other.headers.get('idempotency-mismatch')], [200, 'inputs'])
    const both = await create({ idempotency_key: 'k' }, { 'idempotency-key': 'l' })
    assert.deepEqual([both.status, both.json.errors[0].loc], [422, 'header.idempotency-key'])
    const long = await create({}, { 'idempotency-key': 'k'.repeat(limits.IDEMPOTENCY_KEY_CHARACTERS + 1) })
    assert.deepEqual([long.status, long.json.code], [422, 'validation'])
  })

  test('what is no request for a run is refused, each place named', async () => {
    const refused: [body: unknown, loc: string][] = [
      [{ seed: -1 }, 'body.seed'],
      [{ seed: 1.5 }, 'body.seed'],
      [{ timeout: 0 }, 'body.timeout'],
      [{ cause: 'me' }, 'body.cause'],
      [{ group: '' }, 'body.group'],
      [{ inputs: [] }, 'body.inputs'],
      [{ no_cache: 'yes' }, 'body.no_cache'],
      [{ status: 'running' }, 'body.status'],
    ]
    for (const [body, loc] of refused) {
      const { status, json } = await create(body)
      assert.deepEqual([status, json.code, json.errors[0].loc], [422, 'validation', loc])
    }
  })
})

describe('reading runs', () => {
  test('GET /runs lists by flow, group and status, and counts over all', async () => {
    const first = (await create({ group: 'g' })).json
    const second = (await create()).json
    await ask('POST', `/runs/${first.id}/cancel`)
    const listed = await ask('GET', '/runs?limit=1')
    assert.deepEqual(
      [listed.json.items.map((run: { id: string }) => run.id), listed.json.count, listed.json.counts],
      [[second.id], 2, { boiler: { total: 2, live: 1 } }],
    )
    assert.equal((await ask('GET', '/runs?group=g&status=cancelled&flow=boiler')).json.items[0].id, first.id)
    for (const query of [
      'limit=0',
      'limit=1001',
      'offset=-1',
      'offset=1000001',
      'status=gone',
      'since=today',
      'page=1',
    ])
      assert.equal((await ask('GET', `/runs?${query}`)).status, 422, query)
  })

  test('PATCH /runs/{id} changes tags and note, and lists find the runs that have all tags of the query', async () => {
    const first = (await create({ tags: ['a', 'b'] })).json
    const second = (await create({ tags: ['a'], note: 'n' })).json
    const listed = async (query: string) =>
      (await ask('GET', `/runs?${query}`)).json.items.map((run: { id: string }) => run.id)
    assert.deepEqual(await listed('tag=a'), [second.id, first.id])
    assert.deepEqual(await listed('tag=a&tag=b'), [first.id])
    const changed = await ask('PATCH', `/runs/${second.id}`, { body: { add_tags: ['b'], note: '' } })
    assert.deepEqual([changed.status, changed.json.tags, changed.json.note], [200, ['a', 'b'], ''])
    assert.deepEqual(await listed('tag=a&tag=b'), [second.id, first.id])
    for (const body of [
      { tags: ['no blanks'] },
      { tags: [''] },
      { note: 7 },
      { note: 'n'.repeat(limits.RUN_NOTE_CHARACTERS + 1) },
      { status: 'failed' },
    ])
      assert.equal((await ask('PATCH', `/runs/${first.id}`, { body })).status, 422)
    assert.equal((await ask('GET', '/runs?tag=no+blanks')).status, 422)
    assert.equal((await ask('GET', '/runs?group=a&group=b')).status, 422, 'what is no list stands there once')
  })

  test('GET /runs takes comparisons, an order and columns, and refuses what is none by name', async () => {
    await create({ inputs: { raw: 1 } })
    const good = [
      'where=input.raw%3C2',
      'where=input.raw%3C2&where=metric.loss%3D1&sort=-input.raw',
      'sort=created_at',
      'columns=input.raw,metric.loss',
      'sort=-created_at',
    ]
    for (const query of good) assert.equal((await ask('GET', `/runs?${query}`)).status, 200, query)
    const bad: [query: string, loc: string][] = [
      ['where=raw%3C2', 'query.where'],
      ['where=input.raw', 'query.where'],
      ['sort=raw', 'query.sort'],
      ['columns=input.raw,raw', 'query.columns'],
      [`columns=${Array.from({ length: limits.RUN_COLUMNS + 1 }, (_, at) => `input.x${at}`).join()}`, 'query.columns'],
    ]
    for (const [query, loc] of bad) {
      const { status, json } = await ask('GET', `/runs?${query}`)
      assert.deepEqual([status, json.code, json.errors[0].loc], [422, 'validation', loc], query)
    }
    const many = Array.from({ length: limits.RUN_COMPARISONS + 1 }, () => 'where=seed%3D1').join('&')
    assert.equal((await ask('GET', `/runs?${many}`)).status, 422)
  })

  test('every route of one run takes the beginning of its id or of its last group', async () => {
    const { id } = (await create()).json
    const short = id.slice(24, 32)
    for (const path of ['', '/nodes', '/events', '/logs'])
      assert.equal((await ask('GET', `/runs/${short}${path}`)).status, 200, path)
    assert.equal((await ask('GET', `/runs/${id.slice(0, 20)}`)).json.id, id)
    assert.equal((await ask('GET', `/runs/metrics/series?run=${short}`)).status, 200)
    assert.equal((await ask('PATCH', `/runs/${short}`, { body: { note: 'n' } })).json.id, id)
    const { code, detail } = (await ask('GET', '/runs/01')).json
    assert.equal(code, 'run_not_found')
    assert.match(detail, /too short/)
    const other = (await create()).json.id
    const both = await ask('GET', `/runs/${id.slice(0, 8)}`)
    assert.deepEqual([both.status, both.json.code], [409, 'ambiguous_id'])
    for (const each of [id, other]) assert.ok(both.json.detail.includes(each))
    assert.equal((await ask('POST', `/runs/${short}/cancel`)).json.id, id)
    assert.equal((await ask('POST', `/runs/${short}/retry`)).json.retry_of, id)
    assert.equal((await ask('DELETE', `/runs/${short}`)).status, 204)
  })

  test('a path that names no run is 404, whatever it looks like', async () => {
    for (const id of ['nothing', '0', '01a20059-4264-7712-a48a-c970bdaa120d', '..%2F..', 'export2'])
      for (const path of [`/runs/${id}`, `/runs/${id}/nodes`, `/runs/${id}/events`, `/runs/${id}/nodes/x/why`])
        assert.equal((await ask('GET', path)).json.code, 'run_not_found', path)
    for (const move of ['cancel', 'retry'])
      assert.equal((await ask('POST', `/runs/nothing/${move}`)).json.code, 'run_not_found')
  })

  test('a run that has ended is not cancelled, and one that has not is not retried', async () => {
    const { id } = (await create()).json
    assert.equal((await ask('POST', `/runs/${id}/retry`)).json.code, 'run_not_ended')
    assert.equal((await ask('POST', `/runs/${id}/cancel`)).json.status, 'cancelled')
    assert.equal((await ask('POST', `/runs/${id}/cancel`)).json.code, 'run_ended')
    const retried = await ask('POST', `/runs/${id}/retry`)
    assert.deepEqual([retried.status, retried.json.retry_of, retried.json.attempt], [201, id, 2])
  })
})

describe('exports', () => {
  test('stream under the media type that was asked for, and come before the runs by id', async () => {
    served.engine.runs.exported = [Buffer.from('run,step\n'), Buffer.from('1,2\n')]
    for (const what of ['metrics/export', 'export']) {
      const csv = await ask('GET', `/runs/${what}`)
      assert.deepEqual(
        [csv.status, csv.text, csv.headers.get('content-type')],
        [200, 'run,step\n1,2\n', 'text/csv; charset=utf-8'],
      )
      assert.match(csv.headers.get('content-disposition')!, /^attachment; filename="\w+\.csv"$/)
      const jsonl = await ask('GET', `/runs/${what}?format=jsonl`)
      assert.equal(jsonl.headers.get('content-type'), 'application/jsonl; charset=utf-8')
    }
    for (const query of ['format=xml', 'stride=0', 'stride=1000001', 'stride=1.5', 'name='])
      assert.equal((await ask('GET', `/runs/metrics/export?${query}`)).status, 422, query)
  })
})
