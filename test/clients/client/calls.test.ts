import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { createServer as createTcpServer } from 'node:net'
import { describe, type TestContext, test } from 'node:test'
import { Client, type ClientOptions } from '../../../clients/client/client.ts'
import { ClientError } from '../../../clients/client/client-error.ts'
import type { ErrorCode } from '../../../protocol/errors.ts'
import { ApiDouble, refuse, type Scripted } from '../../kit/api-double.ts'
import { listOf, runId, runOf } from '../../kit/run-answers.ts'
import { eventually } from '../../kit/spawned.ts'

const client = (t: TestContext, url: string, options: Partial<ClientOptions> = {}): Client => {
  const made = new Client({ url, ...options })
  t.after(() => made.close())
  return made
}

const against = async (t: TestContext, script: Record<string, Scripted>, options: Partial<ClientOptions> = {}) => {
  const api = await ApiDouble.start(t, script)
  return { api, client: client(t, api.url, options) }
}

/** What a call throws, as the kind of the ClientError and its code or status. */
async function refusalOf(call: Promise<unknown>): Promise<[kind: string, code: string | number | null]> {
  const error = await call.then(
    () => assert.fail('the call went well'),
    (error: unknown) => error,
  )
  assert.ok(error instanceof ClientError, String(error))
  return [error.kind, error.code ?? error.status]
}

/** Answers with the status so often, then with the answer. */
const busy = (times: number, status: number, answer: unknown = listOf()): Scripted => ({
  act: (_, response, count) => {
    if (count > times) return answer
    response.statusCode = status
    response.end()
  },
})
const cut = (times: number, answer: unknown = listOf()): Scripted => ({
  act: (_, response, count) => (count > times ? answer : response.destroy()),
})
const refusing = (code: ErrorCode): Scripted => ({ refuse: code })

describe('a call that may be sent twice', { concurrency: true }, () => {
  test('is tried again three times when the engine is busy or the answer breaks off', async t => {
    const troubles: Scripted[] = [busy(3, 502), busy(3, 503), busy(3, 504), cut(3)]
    await Promise.all(
      troubles.map(async trouble => {
        const { api, client } = await against(t, { 'GET /flows': trouble })
        assert.deepEqual(await client.flows.list(), listOf())
        assert.equal(api.requests.length, 4)
      }),
    )
  })

  test('fails with what the last try met', async t => {
    const troubles: [Scripted, unknown][] = [
      [busy(9, 502), ['refused', 502]],
      [refusing('rebuilding'), ['refused', 'rebuilding']],
      [cut(9), ['lost', null]],
    ]
    await Promise.all(
      troubles.map(async ([trouble, expected]) => {
        const { api, client } = await against(t, { 'GET /flows': trouble })
        assert.deepEqual(await refusalOf(client.flows.list()), expected)
        assert.equal(api.requests.length, 4)
      }),
    )
  })

  test('is not tried again when it was refused', async t => {
    for (const code of ['flow_not_found', 'forbidden', 'rate_limited', 'internal', 'disk_full'] as const) {
      const { api, client } = await against(t, { 'GET /flows/f': refusing(code) })
      assert.deepEqual(await refusalOf(client.flows.get('f')), ['refused', code])
      assert.equal(api.requests.length, 1)
    }
  })

  test('waits as long as Retry-After asks, and stops waiting when its signal says so', async t => {
    const later: Scripted = {
      act: (_, response) => {
        response.setHeader('retry-after', '3600')
        refuse(response, 'backlogged')
      },
    }
    const { api, client } = await against(t, {
      [`GET /runs/${runId(1)}`]: later,
      [`GET /runs/${runId(2)}`]: refusing('starting'),
    })
    const enough = new AbortController()
    const waiting = client.runs.get(runId(1), { signal: enough.signal })
    // By now the other call has had its four tries, and this one would have had them too.
    assert.deepEqual(await refusalOf(client.runs.get(runId(2))), ['refused', 'starting'])
    const tries = (id: string): number => api.requests.filter(({ path }) => path === `/runs/${id}`).length
    assert.deepEqual([tries(runId(1)), tries(runId(2))], [1, 4])
    enough.abort(new RangeError('enough'))
    await assert.rejects(waiting, /^RangeError: enough$/)
  })

  test('is a save, and no save over a known version', async t => {
    const { api, client } = await against(t, { 'PUT /flows/f': busy(2, 503, {}) })
    const document = { nodes: [] }
    await client.flows.save('f', { document })
    assert.equal(api.requests.length, 3)
    const over = await against(t, { 'PUT /flows/f': busy(9, 503) })
    assert.deepEqual(await refusalOf(over.client.flows.save('f', { document, base_version: 2 })), ['refused', 503])
    assert.equal(over.api.requests.length, 1)
  })

  test('is a deletion: what its first try may have deleted is gone, as was wanted', async t => {
    const { api, client } = await against(t, {
      'DELETE /flavors/gpu': {
        act: (_, response, count) => (count === 1 ? response.destroy() : refuse(response, 'flavor_not_found')),
      },
      'DELETE /flavors/none': refusing('flavor_not_found'),
    })
    await client.flavors.delete('gpu')
    assert.equal(api.requests.length, 2)
    assert.deepEqual(await refusalOf(client.flavors.delete('none')), ['refused', 'flavor_not_found'])
  })

  test('is a run with an idempotency key, and the key is the same each time', async t => {
    const { api, client } = await against(t, { 'POST /runs/flows/f': cut(2, runOf(1)) })
    const { run, replayed } = await client.runs.create('f', { idempotency_key: 'k', inputs: { x: 1 } })
    assert.deepEqual([run.id, replayed], [runId(1), false])
    assert.deepEqual(
      api.requests.map(({ body }) => body),
      Array(3).fill({ idempotency_key: 'k', inputs: { x: 1 } }),
    )
  })
})

describe('a call that may not be sent twice', () => {
  test('is a publish, a run without a key, a retry of a run', async t => {
    const { api, client } = await against(t, {
      'POST /messages/f.x': refusing('backlogged'),
      'POST /runs/flows/f': cut(9),
      [`POST /runs/${runId(1)}/retry`]: busy(9, 502),
    })
    assert.deepEqual(await refusalOf(client.messages.publish('f.x', 1)), ['refused', 'backlogged'])
    assert.deepEqual(await refusalOf(client.runs.create('f')), ['lost', null])
    assert.deepEqual(await refusalOf(client.runs.retry(runId(1))), ['refused', 502])
    assert.equal(api.requests.length, 3)
  })
})

describe('where no engine listens', () => {
  test('a read is answered at once, and a call that may be sent twice waits for the engine to come', async t => {
    const server = createServer((_, response) => response.end('{}'))
    const listen = (port: number) => new Promise<void>(resolve => server.listen(port, '127.0.0.1', resolve))
    await listen(0)
    const { port } = server.address() as { port: number }
    await new Promise(resolve => server.close(resolve))
    const absent = client(t, `http://127.0.0.1:${port}`)
    const saving = absent.flows.save('f', { document: { nodes: [] } })
    assert.deepEqual(await refusalOf(absent.flows.list()), ['unreached', null])
    await listen(port)
    t.after(() => server.close())
    await saving
    await assert.rejects(client(t, 'http://127.0.0.1:1').status(), /^ClientError: No engine answers at http:\/\/127/)
  })

  test('a connection that does not come to be in time counts as none', async t => {
    // It takes the connection and never says a word of TLS.
    const silent = createTcpServer(socket => t.after(() => socket.destroy()))
    await new Promise<void>(resolve => silent.listen(0, '127.0.0.1', resolve))
    t.after(() => silent.close())
    const { port } = silent.address() as { port: number }
    const reading = client(t, `https://127.0.0.1:${port}`, { connect_timeout_ms: 50 }).status()
    await assert.rejects(reading, /no connection within 0\.05 s/)
    assert.deepEqual(await refusalOf(client(t, `https://127.0.0.1:${port}`, { connect_timeout_ms: 50 }).status()), [
      'unreached',
      null,
    ])
  })
})

describe('an answer', () => {
  test('that does not come in time is lost, and was asked for four times', async t => {
    let requests = 0
    const silent = createServer(() => requests++)
    await new Promise<void>(resolve => silent.listen(0, '127.0.0.1', resolve))
    t.after(() => {
      silent.closeAllConnections()
      silent.close()
    })
    const { port } = silent.address() as { port: number }
    const hasty = client(t, `http://127.0.0.1:${port}`, { read_timeout_ms: 30 })
    await assert.rejects(hasty.status(), /broke off \(no answer within 0\.03 s\)/)
    // The last of them may still be on its way.
    await eventually('it was asked four times', () => requests === 4)
  })

  test('of something that is no engine is named as such', async t => {
    const { client } = await against(t, {
      'GET /flows': { act: (_, response) => response.end('<html>hello') },
      'GET /flavors': busy(9, 404),
    })
    assert.deepEqual(await refusalOf(client.flows.list()), ['not_an_engine', null])
    assert.deepEqual(await refusalOf(client.flavors.list()), ['refused', 404])
  })

  test('that refuses has the problem inside, and its sentence is the message', async t => {
    const { client } = await against(t, {
      'GET /flows/f': { act: (_, response) => refuse(response, 'flow_not_found', 'There is no flow "f".') },
    })
    const error = await client.flows.get('f').catch((error: ClientError) => error)
    assert.ok(error instanceof ClientError)
    assert.equal(error.message, 'There is no flow "f". GET /flows lists the flows.')
    assert.partialDeepStrictEqual(error.problem, {
      code: 'flow_not_found',
      status: 404,
      errors: [{ loc: 'body.document', msg: 'is odd' }],
    })
  })
})

test('a token goes with every call, and none goes without one', async t => {
  const { api, client } = await against(t, { 'GET /flavors': { answer: listOf() } }, { token: 'tok' })
  await client.flavors.list()
  await new Client({ url: `${api.url}/` }).flavors.list()
  assert.deepEqual(
    api.requests.map(({ authorization }) => authorization),
    ['Bearer tok', undefined],
  )
})

test('calls one after the other go over one connection', async t => {
  const ports = new Set<number | undefined>()
  const { client } = await against(t, {
    'GET /flavors': {
      act: (_, response) => {
        ports.add(response.socket?.remotePort)
        return listOf()
      },
    },
  })
  for (let times = 0; times < 3; times++) await client.flavors.list()
  assert.equal(ports.size, 1)
})
