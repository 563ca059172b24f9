import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type ErrorCode, ServiceError } from '../../protocol/errors.ts'
import type { FlowDocument } from '../../protocol/nouns/flow-document.ts'
import type { List } from '../../protocol/nouns/list.ts'
import type { CreateRun, Run, RunSummary } from '../../protocol/nouns/run.ts'
import { isLive } from '../../protocol/words/run-status.ts'
import type { Engine } from '../../server/engine.ts'
import type { Runs, RunsPage } from '../../server/runs/batch-runs.ts'
import { code } from '../kit/flow-documents.ts'
import { eventually } from '../kit/live-engine.ts'

const ALL: RunsPage = { limit: 100, offset: 0, flow: null, group: null, status: null, since: null, before: null }
const NO_RUN = '019b0000-0000-7000-8000-000000000000'

/** Its runs end when they are cancelled, and not before. */
const endless = (): FlowDocument => ({
  inputs: [
    { message: 'a', dtype: 'int' },
    { message: 'b', dtype: 'int', default: 0 },
  ],
  nodes: [
    {
      ...code('wait', 'a b', 'y'),
      source: `export default (_, { signal }) =>
        new Promise(resolve => (signal.aborted ? resolve({}) : signal.addEventListener('abort', () => resolve({}))))`,
    },
  ],
})

const microseconds = (time: string): number => Date.parse(time) * 1000 + Number(time.slice(23, 26))

async function refused(code: ErrorCode, work: () => unknown): Promise<void> {
  await assert.rejects(
    async () => work(),
    error => error instanceof ServiceError && error.code === code,
    `${code} is not what came`,
  )
}

async function ended(runs: Runs, id: string): Promise<Run> {
  await runs.cancel(id, 'ada')
  await eventually(async () => !isLive((await runs.get(id)).status), 'the run has ended')
  return runs.get(id)
}

/** Two flows of a story's own, and the runs of it. */
interface Told {
  readonly runs: Runs
  readonly boiler: string
  readonly tank: string
  /** Of the boiler, by ada. */
  create(request?: CreateRun): Promise<Run>
  /** Ids of those of the selection. */
  listed(selection: Partial<RunsPage>): Promise<string[]>
}

/**
 * What routes rely on of batch runs, whether they stand in the store or in memory. Each story has flows of its own. No run ends by
 * itself, and one at a time executes, so those of a story are ended with it.
 */
export function runStories(kind: string, engine: () => Engine): void {
  let stories = 0
  const story = (words: string, tell: (told: Told) => Promise<void>): void => {
    const [boiler, tank] = [`boiler${++stories}`, `tank${stories}`]
    test(words, async () => {
      const { flows, runs } = engine()
      for (const name of [boiler, tank]) await flows.save(name, { document: endless() }, 'ada')
      await tell({
        ...{ runs, boiler, tank },
        create: async (request = { inputs: { a: 1 } }) => (await runs.create(boiler, request, 'ada')).run,
        listed: async selection => (await runs.list({ ...ALL, ...selection })).items.map(run => run.id),
      })
      for (const flow of [boiler, tank])
        for (const { id, status } of (await runs.list({ ...ALL, flow })).items)
          if (isLive(status)) await ended(runs, id)
    })
  }

  describe(`runs of ${kind}`, () => {
    story('are recorded as they were asked for, and live until they end', async ({ runs, boiler, create }) => {
      const asked = { cause: 'cli', seed: 7, timeout: 60, no_cache: true, group: 'g', idempotency_key: 'k' } as const
      const run = await create({ ...asked, origin_commit: 'e'.repeat(40), inputs: { a: 1, b: 2 } })
      assert.partialDeepStrictEqual(run, {
        ...asked,
        flow: boiler,
        created_by: 'ada',
        origin_commit: 'e'.repeat(40),
        version: 1,
        inputs: { a: 1, b: 2 },
        inputs_resolved: { a: 1, b: 2 },
        result: null,
        terminal: [],
        error: null,
        retry_of: null,
        attempt: 1,
        cancel_requested_at: null,
        finished_at: null,
      })
      assert.ok(isLive(run.status))
      const { id, created_at, inputs_digest } = await runs.get(run.id)
      assert.deepEqual(
        { id, created_at, inputs_digest },
        { id: run.id, created_at: run.created_at, inputs_digest: run.inputs_digest },
      )
      assert.match(inputs_digest, /^[0-9a-f]{64}$/)
    })

    story('are listed as summaries of what they were given, and answered whole', async ({ runs, boiler, create }) => {
      const { id } = await create({ inputs: { a: 1, b: 2 } })
      const [{ inputs, result, truncated, error } = assert.fail('it is not listed')] = (
        await runs.list({ ...ALL, flow: boiler })
      ).items
      assert.deepEqual(
        { inputs, result, truncated, error },
        { inputs: { a: 1, b: 2 }, result: null, truncated: false, error: null },
      )
      const text = await runs.text(id)
      assert.ok(text instanceof Uint8Array, 'what is short comes in one piece')
      const told = JSON.parse(Buffer.from(text).toString()) as Run
      assert.deepEqual(Object.keys(told), Object.keys(await runs.get(id)))
      assert.deepEqual(told.inputs_resolved, { a: 1, b: 2 })
    })

    story('with a key that was given before are the run that has it', async ({ runs, boiler, create, listed }) => {
      const run = await create({ idempotency_key: 'k', seed: 1, inputs: { a: 1, b: 2 } })
      const again = async (request: CreateRun) => {
        const { run, ...rest } = await runs.create(boiler, { idempotency_key: 'k', ...request }, 'ada')
        return { id: run.id, ...rest }
      }
      const same = { id: run.id, replayed: true, mismatch: false }
      assert.deepEqual(await again({ seed: 1, inputs: { a: 1, b: 2 } }), same)
      assert.deepEqual(await again({ seed: 1, inputs: { b: 2, a: 1 } }), same, 'in another order')
      assert.deepEqual(await again({ seed: 1, inputs: { a: 1, b: 3 } }), { ...same, mismatch: true })
      assert.deepEqual(await again({ seed: 2, inputs: { a: 1, b: 2 } }), { ...same, mismatch: true }, 'another seed')
      assert.deepEqual(await listed({ flow: boiler }), [run.id])
    })

    story('with a key that was given before join the group of the repeat', async ({ runs, boiler, create, listed }) => {
      const run = await create({ idempotency_key: 'k', group: `${boiler}-first`, inputs: { a: 1 } })
      const alone = await create({ group: `${boiler}-second`, inputs: { a: 1 } })
      const repeated = async (group: string) =>
        (await runs.create(boiler, { idempotency_key: 'k', group, inputs: { a: 1 } }, 'ada')).run
      for (let times = 0; times < 2; times++) {
        const { id, group, groups } = await repeated(`${boiler}-second`)
        assert.deepEqual([id, group, groups], [run.id, `${boiler}-first`, [`${boiler}-first`, `${boiler}-second`]])
      }
      await repeated(`${boiler}-first`)
      assert.deepEqual((await runs.get(run.id)).groups, [`${boiler}-first`, `${boiler}-second`])
      assert.deepEqual(await listed({ group: `${boiler}-first` }), [run.id])
      assert.deepEqual(await listed({ group: `${boiler}-second` }), [alone.id, run.id])
      assert.deepEqual(await listed({ group: `${boiler}-second`, before: microseconds(alone.created_at) }), [run.id])
      const { items, count } = await runs.list({ ...ALL, group: `${boiler}-second`, limit: 1, offset: 1 })
      assert.deepEqual([items.map(({ id }) => id), count], [[run.id], 2])
    })

    story(
      'carry tags and a note, which can be changed and are no part of the key',
      async ({ runs, boiler, create, listed }) => {
        const run = await create({ idempotency_key: 'k', tags: ['b', 'a', 'b'], note: 'first', inputs: { a: 1 } })
        const other = await create({ tags: ['a'], inputs: { a: 1 } })
        assert.deepEqual([run.tags, run.note], [['b', 'a'], 'first'])
        const again = await runs.create(
          boiler,
          { idempotency_key: 'k', tags: ['a', 'c'], note: 'x', inputs: { a: 1 } },
          'ada',
        )
        assert.deepEqual([again.run.id, again.replayed, again.mismatch], [run.id, true, false])
        assert.deepEqual([again.run.tags, again.run.note], [['b', 'a', 'c'], 'first'])
        assert.deepEqual(await listed({ flow: boiler, tags: ['a'] }), [other.id, run.id])
        assert.deepEqual(await listed({ flow: boiler, tags: ['a', 'c'] }), [run.id])
        assert.deepEqual(await listed({ flow: boiler, tags: ['none'] }), [])
        const changed = await runs.change(
          run.id,
          { add_tags: ['d'], remove_tags: ['a', 'none'], note: 'second' },
          'bob',
        )
        assert.deepEqual([changed.tags, changed.note], [['b', 'c', 'd'], 'second'])
        assert.deepEqual(await listed({ flow: boiler, tags: ['a'] }), [other.id])
        assert.deepEqual((await runs.change(run.id, { tags: ['z'] }, 'bob')).tags, ['z'])
        const stored = await runs.get(run.id)
        assert.deepEqual([stored.tags, stored.note], [['z'], 'second'])
        const { items, count } = await runs.list({
          ...ALL,
          tags: ['a'],
          group: null,
          flow: boiler,
          limit: 1,
          offset: 0,
        })
        assert.deepEqual([items.map(({ id, tags }) => [id, tags]), count], [[[other.id, ['a']]], 1])
        await refused('run_not_found', () => runs.change(NO_RUN, { note: 'x' }, 'bob'))
      },
    )

    story(
      'with the same key, of another flow or another caller, are others',
      async ({ runs, boiler, tank, create }) => {
        const request = { idempotency_key: 'k', inputs: { a: 1 } }
        const ids = [await create(request)].map(run => run.id)
        for (const [flow, caller] of [
          [boiler, 'bob'],
          [tank, 'ada'],
        ] as const) {
          const { run, replayed } = await runs.create(flow, request, caller)
          assert.equal(replayed, false)
          ids.push(run.id)
        }
        assert.equal(new Set(ids).size, 3)
      },
    )

    story('are listed from the newest on, in pages that say how many there are', async ({ runs, boiler, create }) => {
      const ids: string[] = []
      for (let a = 0; a < 3; a++) ids.unshift((await create({ inputs: { a } })).id)
      const idsOf = ({ items, count }: List<RunSummary>) => [items.map(run => run.id), count]
      assert.deepEqual(idsOf(await runs.list({ ...ALL, flow: boiler })), [ids, 3])
      assert.deepEqual(idsOf(await runs.list({ ...ALL, flow: boiler, limit: 1, offset: 1 })), [[ids[1]], 3])
    })

    story(
      'are listed by flow, group, status and time; the counts are of all',
      async ({ runs, boiler, tank, create, listed }) => {
        const first = await create({ group: boiler, inputs: { a: 1 } })
        const second = await create({ inputs: { a: 2 } })
        const third = (await runs.create(tank, { inputs: { a: 3 } }, 'ada')).run
        await ended(runs, second.id)
        assert.deepEqual(await listed({ flow: boiler }), [second.id, first.id])
        assert.deepEqual(await listed({ group: boiler }), [first.id])
        assert.deepEqual(await listed({ flow: boiler, status: 'cancelled' }), [second.id])
        assert.deepEqual(await listed({ since: microseconds(second.created_at) }), [third.id, second.id])
        assert.deepEqual(await listed({ flow: boiler, before: microseconds(second.created_at) }), [first.id])
        const { counts } = await runs.list({ ...ALL, flow: tank })
        assert.deepEqual(
          [counts[boiler], counts[tank]],
          [
            { total: 2, live: 1 },
            { total: 1, live: 1 },
          ],
        )
      },
    )

    story('end when they are cancelled, once', async ({ runs, create }) => {
      const executes = await create()
      const waits = await create()
      for (const { id } of [waits, executes]) {
        const run = await ended(runs, id)
        assert.equal(run.status, 'cancelled')
        assert.notEqual(run.cancel_requested_at, null)
        assert.notEqual(run.finished_at, null)
        await refused('run_ended', () => runs.cancel(id, 'ada'))
      }
    })

    story(
      'that have ended are retried as they were asked for, by a run of its own without their key',
      async ({ runs, create }) => {
        const asked = { cause: 'sdk', seed: 7, timeout: 60, no_cache: true, group: 'g' } as const
        const before = await create({ ...asked, idempotency_key: 'k', inputs: { a: 1 } })
        await refused('run_not_ended', () => runs.retry(before.id, 'bob'))
        await ended(runs, before.id)
        const run = await runs.retry(before.id, 'bob')
        assert.notEqual(run.id, before.id)
        assert.partialDeepStrictEqual(run, {
          ...asked,
          inputs: { a: 1 },
          created_by: 'bob',
          idempotency_key: null,
          retry_of: before.id,
          attempt: 2,
        })
      },
    )

    story('that there are not are refused by name', async ({ runs }) => {
      await refused('flow_not_found', () => runs.create('nothing', {}, 'ada'))
      for (const ask of [
        () => runs.get(NO_RUN),
        () => runs.text(NO_RUN),
        () => runs.exists(NO_RUN),
        () => runs.nodesText(NO_RUN),
        () => runs.nodes(NO_RUN),
        () => runs.cancel(NO_RUN, 'ada'),
        () => runs.retry(NO_RUN, 'ada'),
        () => runs.why(NO_RUN, 'wait'),
      ])
        await refused('run_not_found', ask)
    })

    story('know only their own nodes', async ({ runs, create }) => {
      const { id } = await create()
      await refused('node_not_found', () => runs.why(id, 'nothing'))
    })

    story('that recorded no metric have none', async ({ runs, create }) => {
      const { id } = await create()
      const { limit: _, offset: __, ...selection } = ALL
      assert.deepEqual(await runs.metricNames(selection), { names: [], before: null })
      const series = await runs.series({ ...selection, run: id, name: null, stride: 1, offset: 0, limit: 10 })
      assert.deepEqual(series, { items: [], count: 0 })
    })
  })
}
