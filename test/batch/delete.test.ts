import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import Database from 'better-sqlite3'
import { limits } from '../../protocol/limits.ts'
import { BatchStory } from '../kit/batch-story.ts'
import { sharedEngine } from '../kit/live-engine.ts'
import { code, flow, Gate, input, output, refused } from '../kit/live-story.ts'
import { StoredFiles } from '../kit/stored-artifacts.ts'

const live = sharedEngine({ FLOW_MAX_WORKERS: '2', FLOW_MAX_RUNS: '2' }, { call_grace_ms: 100 })

const ada = { name: 'ada', address: '127.0.0.1' }
const told = { actor: 'ada', address: '127.0.0.1', result: 'ok' }

const fit = (source = 'export default ({ x }, ctx) => { ctx.metric("loss", x, 0); return { y: 2 * x } }') =>
  flow([code('fit', source, [input('x', 'json')], [output('y', 'json')])], { message: 'x', dtype: 'json' })
const count = async (flow: string): Promise<[number, number]> => {
  const { counts, ...page } = await live.engine.runs.list({
    flow,
    group: null,
    status: null,
    since: null,
    before: null,
    limit: 1,
    offset: 0,
  })
  return [page.count, counts[flow]?.total ?? 0]
}

test('a run that has ended is deleted with all that belongs to it, and told of', async () => {
  const story = new BatchStory(live.engine)
  const { runs, artifacts, observe } = live.engine
  async function* bytes() {
    yield Buffer.from('held by a run')
  }
  const { digest } = await artifacts.put(bytes(), null)
  await story.save('goes', fit('export default ({ x }, ctx) => { ctx.metric("loss", 1, 0); return { y: 1 } }'))
  const { id } = await story.runs('goes', { inputs: { x: digest }, idempotency_key: 'k', group: 'g' })
  assert.deepEqual(await count('goes'), [1, 1])
  await runs.delete(id, ada)
  assert.equal(await refused(runs.get(id)), 'run_not_found')
  assert.equal(await refused(runs.delete(id, ada)), 'run_not_found')
  assert.deepEqual(await count('goes'), [0, 0])
  const every = { limit: 10, offset: 0, flow: null, type: 'audit', audit: true, since_us: null, until_us: null }
  const [event] = (await observe.events(every)).items
  assert.partialDeepStrictEqual(event, { action: 'run_deleted', flow: 'goes', object: `run:${id}`, ...told })
  // Nothing holds its artifact, its key is free, and its nodes are no hits.
  new StoredFiles(live.data_dir).age(digest, 2 * limits.ARTIFACT_SPARED_S)
  assert.equal((await artifacts.sweep()).removed, 1)
  const again = await runs.create('goes', { inputs: { x: 1 }, idempotency_key: 'k' }, 'tests')
  assert.equal(again.replayed, false)
  await story.ended(again.run.id)
})

test('a run that is deleted over HTTP takes its log with it, and that of another run stays', async () => {
  const story = new BatchStory(live.engine)
  await story.save(
    'says',
    fit('export default ({ x }, ctx) => { ctx.log(x + " of 3"); console.log("and"); return {} }'),
  )
  const [goes, stays] = [await story.runs('says', { inputs: { x: 1 } }), await story.runs('says', { inputs: { x: 2 } })]
  const headers = { authorization: `Bearer ${readFileSync(join(live.data_dir, 'token'), 'utf8').trim()}` }
  const ask = (method: string, path: string): Promise<Response> => fetch(`${live.url}${path}`, { method, headers })
  const texts = async (id: string): Promise<string[]> => {
    const { items } = (await (await ask('GET', `/runs/${id}/logs`)).json()) as { items: { text: string }[] }
    return items.map(({ text }) => text)
  }
  assert.deepEqual(
    [await texts(goes.id), await texts(stays.id)],
    [
      ['1 of 3', 'and'],
      ['2 of 3', 'and'],
    ],
  )
  assert.equal((await ask('DELETE', `/runs/${goes.id}`)).status, 204)
  const gone = await ask('GET', `/runs/${goes.id}/logs`)
  assert.deepEqual([gone.status, ((await gone.json()) as { code: string }).code], [404, 'run_not_found'])
  assert.deepEqual(await texts(stays.id), ['2 of 3', 'and'])
  const db = new Database(join(live.data_dir, 'engine.db'), { readonly: true })
  const heads = db.prepare('SELECT r.id FROM run_logs l LEFT JOIN runs r ON r.seq = l.run').pluck().all()
  const chunks = db
    .prepare('SELECT DISTINCT r.id FROM run_log_chunks c LEFT JOIN runs r ON r.seq = c.run')
    .pluck()
    .all()
  db.close()
  for (const kept of [heads, chunks]) {
    assert.ok(kept.includes(stays.id))
    assert.ok(!kept.includes(goes.id) && !kept.includes(null), 'no row is left of the run that is gone')
  }
})

test('a run whose node another one reuses stays, until that one is gone', async () => {
  const story = new BatchStory(live.engine)
  const { runs } = live.engine
  await story.save('reused', fit())
  const first = await story.runs('reused', { inputs: { x: 3 } })
  const second = await story.runs('reused', { inputs: { x: 3 } })
  assert.equal((await story.node(second.id, 'fit')).cached_from, first.id)
  assert.equal(await refused(runs.delete(first.id, ada)), 'run_in_use')
  assert.equal((await runs.get(first.id)).id, first.id)
  await runs.delete(second.id, ada)
  await runs.delete(first.id, ada)
  const third = await story.runs('reused', { inputs: { x: 3 } })
  assert.equal((await story.node(third.id, 'fit')).status, 'succeeded', 'what is gone is no hit')
})

test('a run that has not ended is not deleted', async () => {
  const story = new BatchStory(live.engine)
  const gate = new Gate(live.data_dir, 'kept')
  await story.save('kept', fit(`${gate.source}export default async ({ x }) => { await opened(); return { y: x } }`))
  const { id } = await story.create('kept', { inputs: { x: 1 } })
  assert.equal(await refused(live.engine.runs.delete(id, ada)), 'run_not_ended')
  gate.open()
  await story.ended(id)
  await live.engine.runs.delete(id, ada)
})
