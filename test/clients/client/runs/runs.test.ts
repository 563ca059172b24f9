import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { Client } from '../../../../clients/client/client.ts'
import { ClientError } from '../../../../clients/client/client-error.ts'
import type { EngineEvent } from '../../../../protocol/nouns/event.ts'
import type { Run } from '../../../../protocol/nouns/run.ts'
import { ApiDouble, refuse, type Scripted } from '../../../kit/api-double.ts'
import { pageOf, queuedRun, runEvent, runId, runOf, timeAt } from '../../../kit/run-answers.ts'
import { eventually } from '../../../kit/spawned.ts'

const ID = runId(1)
const RUN = `GET /runs/${ID}`

async function against(t: TestContext, script: Record<string, Scripted>) {
  const api = await ApiDouble.start(t, script)
  const client = new Client({ url: api.url })
  t.after(() => client.close())
  return { api, client, runs: client.runs }
}

describe('a new run', () => {
  test('is told from one that its key named', async t => {
    const heads: Record<string, string>[] = [
      {},
      { 'idempotency-replayed': 'true' },
      { 'idempotency-replayed': 'true', 'idempotency-mismatch': 'inputs' },
    ]
    const { runs } = await against(t, {
      'POST /runs/flows/f': {
        act: (_, response, count) => {
          for (const [name, value] of Object.entries(heads[count - 1]!)) response.setHeader(name, value)
          return runOf(1)
        },
      },
    })
    const told = []
    for (const _ of heads) told.push(await runs.create('f', { idempotency_key: 'k' }))
    assert.deepEqual(
      told.map(({ replayed, mismatch }) => [replayed, mismatch]),
      [
        [false, false],
        [true, false],
        [true, true],
      ],
    )
  })
})

describe('the list of runs', () => {
  const all = Array.from({ length: 7 }, (_, at) => runOf(7 - at))
  const pages: Scripted = {
    act: ({ query }) => {
      const { before = '9', limit } = query
      const left = all.filter(run => run.created_at < before)
      return { ...pageOf(left, 0, Number(limit)), counts: {} }
    },
  }

  test('comes page by page, each before the last one, and ends with the last', async t => {
    const { api, runs } = await against(t, { 'GET /runs': pages })
    const found: string[] = []
    for await (const run of runs.list({ flow: 'boiler', status: 'failed' }, 3)) found.push(run.id)
    assert.deepEqual(
      found,
      all.map(run => run.id),
    )
    assert.deepEqual(
      api.requests.map(({ query }) => query),
      [
        { flow: 'boiler', status: 'failed', limit: '3' },
        { flow: 'boiler', status: 'failed', limit: '3', before: timeAt(5) },
        { flow: 'boiler', status: 'failed', limit: '3', before: timeAt(2) },
      ],
    )
  })

  test('asks for no page that nobody reads', async t => {
    const { api, runs } = await against(t, { 'GET /runs': pages })
    for await (const run of runs.list({}, 3)) if (run.id === runId(6)) break
    assert.equal(api.requests.length, 1)
  })
})

describe('waiting for a run', { concurrency: true }, () => {
  const down = (times: number): Scripted => ({
    act: (_, response, count) => (count > times ? runOf(1) : response.destroy()),
  })

  test('ends when the run has, and tells what it saw', async t => {
    const statuses: Run['status'][] = ['queued', 'running', 'running', 'cancelled']
    const { runs } = await against(t, { [RUN]: { act: (_, __, count) => runOf(1, { status: statuses[count - 1]! }) } })
    const seen: string[] = []
    const run = await runs.wait(ID, { onPoll: run => seen.push(run.status) })
    assert.deepEqual([run.status, seen], ['cancelled', statuses])
  })

  test('bears five failed polls in a row, and not six', async t => {
    const outages: Scripted = {
      act: (_, response, count) => {
        if (count === 1) return queuedRun(1)
        return count % 2 === 0 ? response.destroy() : refuse(response, 'internal')
      },
    }
    const [borne, longer] = [await against(t, { [RUN]: down(5) }), await against(t, { [RUN]: outages })]
    await Promise.all([borne.runs.wait(ID), assert.rejects(longer.runs.wait(ID), ClientError)])
    assert.deepEqual([borne.api.requests.length, longer.api.requests.length], [6, 7])
  })

  test('ends at once when there is no such run, or the engine does not let us look', async t => {
    for (const code of ['run_not_found', 'unauthenticated', 'forbidden'] as const) {
      const { api, runs } = await against(t, { [RUN]: { refuse: code } })
      await assert.rejects(runs.wait(ID), (error: ClientError) => error.code === code)
      assert.equal(api.requests.length, 1)
    }
  })

  test('ends when it is told to, and the run goes on', async t => {
    const { api, runs } = await against(t, { [RUN]: { answer: queuedRun(1) } })
    const enough = new AbortController()
    const waiting = runs.wait(ID, { signal: enough.signal })
    await eventually('it polls', () => api.requests.length > 1)
    enough.abort(new RangeError('enough'))
    await assert.rejects(waiting, /enough/)
    assert.ok(api.requests.every(({ method }) => method === 'GET'))
  })
})

describe('following a run', { concurrency: true }, () => {
  const EVENTS = `GET /runs/${ID}/events`
  const told = (events: readonly EngineEvent[]): string[] => events.map(({ type, node }) => `${type} ${node ?? ''}`)
  const node = (second: number, id: string): EngineEvent => runEvent('run_node', second, { node: id })

  /** A run whose record grows as the test goes on; `tell` writes it down and sends it to the sockets, or only one of both. */
  async function running(t: TestContext) {
    const record: EngineEvent[] = []
    const state = { run: runOf(1, { status: 'running' }) }
    const { api, runs } = await against(t, {
      [RUN]: { act: () => state.run },
      [EVENTS]: {
        act: ({ query }) => {
          const newest = record.toReversed()
          const from = Number(query['offset'])
          return { items: newest.slice(from, from + Number(query['limit'])), count: newest.length }
        },
      },
    })
    api.onFrame((frame, socket) => socket.send(JSON.stringify({ ...frame, type: 'subscribed' })))
    const send = (event: Record<string, unknown>): void => {
      for (const socket of api.sockets) socket.send(JSON.stringify(event))
    }
    const tell = (event: EngineEvent): void => {
      record.push(event)
      // The members of an event stand in another order in the record.
      send(Object.fromEntries(Object.entries(event).reverse()))
    }
    const end = (): void => {
      state.run = runOf(1)
      tell(runEvent('run_finished', 60))
    }
    const events: EngineEvent[] = []
    const follow = async (options = {}) => {
      const following = runs.follow(ID, options)
      for (;;) {
        const next = await following.next()
        if (next.done) return next.value
        events.push(next.value)
      }
    }
    const has = (count: number) => eventually(`it has ${count} events`, () => events.length >= count)
    return { api, record, events, send, tell, end, follow, has, state }
  }

  test('tells what was before, then what happens, each event once and in order, and ends with the run', async t => {
    const { api, record, events, send, tell, end, follow, has } = await running(t)
    record.push(runEvent('run_created', 1), runEvent('run_started', 2))
    const following = follow()
    await has(2)
    await eventually('it follows', () => api.frames.some(({ events }) => events === true))
    tell(node(3, 'read'))
    send({ ...node(3, 'other'), run: runId(2) })
    await has(3)
    tell(node(4, 'mean'))
    end()
    assert.equal((await following).status, 'succeeded')
    assert.deepEqual(told(events), ['run_created ', 'run_started ', 'run_node read', 'run_node mean', 'run_finished '])
    await eventually('the socket is closed', () => api.sockets.size === 0)
  })

  test('goes by the record where no socket is let in', async t => {
    const { api, events, tell, end, follow, has } = await running(t)
    api.refuseSockets = true
    tell(runEvent('run_created', 1))
    const following = follow()
    await has(1)
    tell(node(2, 'read'))
    await has(2)
    end()
    await following
    assert.deepEqual(told(events), ['run_created ', 'run_node read', 'run_finished '])
  })

  test('finds in the record what happened while the socket was away', async t => {
    const { api, record, events, tell, end, follow, has } = await running(t)
    tell(runEvent('run_created', 1))
    const following = follow()
    await eventually('it follows', () => api.frames.length === 1)
    tell(node(2, 'read'))
    await has(2)
    for (const socket of api.sockets) socket.terminate()
    record.push(node(3, 'unseen'))
    await eventually('it follows again', () => api.frames.length === 2)
    await has(3)
    tell(node(4, 'mean'))
    await has(4)
    end()
    await following
    assert.deepEqual(told(events).slice(1), ['run_node read', 'run_node unseen', 'run_node mean', 'run_finished '])
  })

  test('looks up what the engine says that this end was too slow for', async t => {
    const { api, record, events, send, end, follow, has } = await running(t)
    const following = follow()
    await eventually('it follows', () => api.frames.length === 1)
    await eventually('it looked since', () => api.requests.filter(({ path }) => path.endsWith('/events')).length > 1)
    record.push(...Array.from({ length: 2_500 }, (_, at) => runEvent('run_node', 3, { node: `n${at}` })))
    send({ type: 'events_missed', count: 2_500 })
    await has(2_500)
    end()
    await following
    assert.equal(events.length, 2_501)
    assert.deepEqual(
      events.slice(0, 2_500).map(event => event['node']),
      record.slice(0, 2_500).map(event => event['node']),
    )
  })

  test('of a run that ended long ago tells all of it', async t => {
    const { events, tell, end, follow } = await running(t)
    tell(runEvent('run_created', 1))
    end()
    assert.equal((await follow()).id, ID)
    assert.deepEqual(told(events), ['run_created ', 'run_finished '])
  })

  test('ends at once when there is no such run, and closes its socket', async t => {
    const { api, runs } = await against(t, { [RUN]: { refuse: 'run_not_found' } })
    await assert.rejects(runs.follow(ID).next(), (error: ClientError) => error.code === 'run_not_found')
    await eventually('the socket is closed', () => api.sockets.size === 0)
  })

  test('ends when it is told to', async t => {
    const { follow, state } = await running(t)
    const enough = new AbortController()
    const following = follow({ signal: enough.signal, onPoll: () => enough.abort(new RangeError('enough')) })
    await assert.rejects(following, /enough/)
    assert.equal(state.run.status, 'running')
  })
})
