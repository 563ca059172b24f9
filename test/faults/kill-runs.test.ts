import assert from 'node:assert/strict'
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { List } from '../../clients/client/pages.ts'
import type { FlowNode } from '../../protocol/nouns/flow-document.ts'
import type { Run } from '../../protocol/nouns/run.ts'
import { code, flow, input, output } from '../kit/live-story.ts'
import { randomFrom, seed } from '../kit/random.ts'
import { RealEngine } from '../kit/real-engine.ts'
import { directoryFor, Endings, eventually, isAlive } from '../kit/spawned.ts'

const ROUNDS = 3
const CALLERS = 4

/** Each execution leaves a line in a file that no kill takes back. */
const noted = (file: string, more: Partial<FlowNode>) =>
  flow(
    [
      code(
        'note',
        `import { appendFileSync } from 'node:fs'
        export default async ({ key }, ctx) => {
          appendFileSync(${JSON.stringify(file)}, ctx.run.id + '\\n')
          await new Promise(go => setTimeout(go, 5))
          return { kept: key }
        }`,
        [input('key', 'str')],
        [output('kept', 'str')],
        { cache: false, ...more },
      ),
    ],
    { message: 'key', dtype: 'str' },
  )

const ONE_CORE = { FLOW_CPUS: '1', FLOW_MAX_RUNS: '2' }
const waits: Partial<FlowNode> = { resources: { cpus: 1 } }

test(`runs that were acknowledged survive kill -9, none stays running, and none is executed twice (SEED=${seed})`, async t => {
  await survive(t, {}, {})
})

test(`so do runs that wait for resources, set aside or queued again (SEED=${seed})`, async t => {
  const waited = await survive(t, waits, ONE_CORE)
  assert.ok(waited > 2, `at most ${waited} runs waited at a kill: none was set aside`)
})

/** Returns how many calls waited for resources at once, at most, when the engine was killed. */
async function survive(t: TestContext, node: Partial<FlowNode>, environment: Record<string, string>): Promise<number> {
  let waited = 0
  const folder = directoryFor(t)
  const executed = join(folder, 'executed')
  appendFileSync(executed, '')
  const data_dir = join(folder, 'data')
  const random = randomFrom(seed)
  /** Run id by key. */
  const acknowledged = new Map<string, string>()
  let life = new Endings()
  t.after(() => life.end())
  let engine = await RealEngine.start(life, { data_dir, environment })
  await engine.save('noted', noted(executed, node))
  for (let round = 0; round < ROUNDS; round++) {
    let killed = false
    const callers = Array.from({ length: CALLERS }, async (_, caller) => {
      for (let at = 0; !killed; at++) {
        const key = `${round}-${caller}-${at}`
        const answer = await engine
          .ask('POST', '/runs/flows/noted', { inputs: { key }, idempotency_key: key })
          .catch(() => null)
        if (answer === null) return
        assert.ok(answer.status === 201, JSON.stringify(answer.json))
        acknowledged.set(key, answer.json.id)
      }
    })
    await sleep(150 + random() * 400)
    waited = Math.max(waited, (await engine.ask('GET', '/workers/resources')).json.waiting_count)
    const { pid } = engine
    process.kill(pid, 'SIGKILL')
    engine.process.child.kill('SIGKILL')
    killed = true
    await engine.process.ended
    await eventually('the engine process is gone', () => !isAlive(pid))
    await Promise.all(callers)
    await life.end()
    life = new Endings()
    engine = await RealEngine.start(life, { data_dir, environment })
    await check(engine, acknowledged, executed)
  }
  assert.ok(acknowledged.size > ROUNDS, 'the load got through')
  return waited
}

async function check(engine: RealEngine, acknowledged: ReadonlyMap<string, string>, executed: string): Promise<void> {
  await eventually('every run has ended', async () => {
    const live = await Promise.all(
      ['queued', 'running'].map(async status => (await engine.ask('GET', `/runs?status=${status}&limit=1`)).json.count),
    )
    return live.every(count => count === 0)
  })
  const runs = new Map<string, Run>()
  // A page may end before its limit, at its bound of bytes: `next` says where it goes on.
  for (let offset: number | undefined = 0; offset !== undefined; ) {
    const page: List<Run> = (await engine.ask('GET', `/runs?limit=1000&offset=${offset}`)).json
    for (const run of page.items) runs.set(run.id, run)
    offset = page.next ?? (page.items.length === 1000 ? offset + 1000 : undefined)
  }
  const times = new Map<string, number>()
  if (existsSync(executed))
    for (const id of readFileSync(executed, 'utf8').split('\n')) times.set(id, (times.get(id) ?? 0) + 1)
  times.delete('')
  for (const [key, id] of acknowledged) {
    const run = runs.get(id)
    assert.ok(run !== undefined, `run ${id} was acknowledged and is lost`)
    assert.equal(run.idempotency_key, key)
    if (run.status === 'succeeded') assert.deepEqual([run.result, times.get(id)], [{ kept: key }, 1])
    else assert.deepEqual([run.status, run.error!.code], ['failed', 'engine_restarted'])
  }
  for (const [id, count] of times) assert.ok(count === 1 && runs.has(id), `run ${id} was executed ${count} times`)
  const { items } = (await engine.ask('GET', '/runs?limit=1')).json
  const again = await engine.ask('POST', '/runs/flows/noted', {
    inputs: items[0].inputs,
    idempotency_key: items[0].idempotency_key,
  })
  assert.deepEqual([again.status, again.json.id], [200, items[0].id])
}
