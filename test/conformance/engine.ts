import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { type ErrorCode, ServiceError } from '../../protocol/errors.ts'
import type { FlowDocument } from '../../protocol/nouns/flow-document.ts'
import type { Engine } from '../../server/engine.ts'
import { code } from '../kit/flow-documents.ts'

const PAGE = { limit: 100, offset: 0 }
const WHOLE = { since_us: null, until_us: null, limit: 100, bucket_s: null }

/** A flow that reads `raw` and makes `mean`. */
const boiler = (note = ''): FlowDocument => ({
  inputs: [{ message: 'raw', dtype: 'float' }],
  nodes: [{ ...code('smooth', 'raw', 'mean'), source: `export default ({ in0 }) => ({ mean: in0 }) // ${note}` }],
})

async function refused(code: ErrorCode, work: () => unknown): Promise<void> {
  await assert.rejects(
    async () => work(),
    error => error instanceof ServiceError && error.code === code,
    `${code} is not what came`,
  )
}

/** What routes and sockets rely on, told on an engine of its own each time. The routes are tested against one that passes this. */
export function engineStories(kind: string, open: (t: TestContext) => Promise<Engine>): void {
  const story = (words: string, tell: (engine: Engine) => Promise<void>): void => {
    test(words, async t => tell(await open(t)))
  }

  describe(`flows of ${kind}`, () => {
    story('begin at version 1, and each change is a commit whose parent is the one before', async ({ flows }) => {
      const first = await flows.save('boiler', { document: boiler() }, 'ada')
      const second = await flows.save('boiler', { document: boiler('again'), message: 'tuned' }, 'bob')
      assert.deepEqual([first.version, second.version], [1, 2])
      const { items, count } = await flows.history('boiler', PAGE)
      assert.equal(count, 2)
      assert.deepEqual(
        items.map(({ commit, parent, version, author, message }) => ({ commit, parent, version, author, message })),
        [
          { commit: second.commit, parent: first.commit, version: 2, author: 'bob', message: 'tuned' },
          { commit: first.commit, parent: null, version: 1, author: 'ada', message: '' },
        ],
      )
      assert.deepEqual((await flows.history('boiler', { limit: 1, offset: 1 })).items[0]!.commit, first.commit)
    })

    story('are listed by name, in pages that say how many there are', async ({ flows }) => {
      for (const name of ['c', 'a', 'b']) await flows.save(name, { document: boiler() }, 'ada')
      assert.deepEqual(
        flows.list(PAGE).items.map(flow => flow.name),
        ['a', 'b', 'c'],
      )
      const { items, count } = flows.list({ limit: 1, offset: 1 })
      assert.deepEqual([items.map(flow => flow.name), count], [['b'], 3])
    })

    story('that are there are not created again, and the present one stays', async ({ flows }) => {
      const { version } = await flows.create({ name: 'boiler', document: boiler() }, 'ada')
      await refused('flow_exists', () => flows.create({ name: 'boiler', document: boiler('other') }, 'bob'))
      assert.equal(flows.get('boiler').version, version)
      assert.equal(flows.get('boiler').updated_by, 'ada')
    })

    story('are not saved over a version that the saver has not seen', async ({ flows }) => {
      await refused('stale_version', () => flows.save('boiler', { document: boiler(), base_version: 3 }, 'ada'))
      await flows.save('boiler', { document: boiler(), base_version: 0 }, 'ada')
      await flows.save('boiler', { document: boiler('seen'), base_version: 1 }, 'ada')
      await refused('stale_version', () => flows.save('boiler', { document: boiler('late'), base_version: 1 }, 'ada'))
      assert.equal(flows.get('boiler').version, 2)
    })

    story('with two nodes of one name are refused, and nothing is stored', async ({ flows }) => {
      const document = { ...boiler(), nodes: [code('a', 'raw', 'x'), code('a', 'raw', 'y')] }
      await refused('duplicate_name', () => flows.save('boiler', { document }, 'ada'))
      await refused('flow_not_found', () => flows.get('boiler'))
    })

    story('go with their messages when they are removed', async ({ flows, messages }) => {
      await flows.save('boiler', { document: boiler() }, 'ada')
      await flows.remove('boiler', 'ada')
      await refused('flow_not_found', () => flows.get('boiler'))
      await refused('message_not_found', () => messages.get('boiler.raw'))
      await refused('flow_not_found', () => flows.remove('boiler', 'ada'))
    })

    story('keep their history under a new name, which must be free', async ({ flows }) => {
      const { commit } = await flows.save('boiler', { document: boiler() }, 'ada')
      await flows.save('tank', { document: boiler() }, 'ada')
      await refused('flow_exists', () => flows.rename('boiler', 'tank', 'bob'))
      await flows.rename('boiler', 'kettle', 'bob')
      await refused('flow_not_found', () => flows.get('boiler'))
      const { items } = await flows.history('kettle', PAGE)
      assert.equal(items.length, 2)
      assert.equal(items[1]!.commit, commit)
    })

    story('are disabled and enabled by a commit each, which counts no version and happens once', async ({ flows }) => {
      const saved = await flows.save('boiler', { document: boiler() }, 'ada')
      const disabled = await flows.setEnabled('boiler', false, 'bob')
      assert.equal(flows.get('boiler').enabled, false)
      assert.deepEqual(await flows.setEnabled('boiler', false, 'eve'), disabled)
      assert.equal(flows.get('boiler').updated_by, 'bob')
      const enabled = await flows.setEnabled('boiler', true, 'bob')
      assert.equal(flows.get('boiler').enabled, true)
      assert.deepEqual([saved.version, disabled.version, enabled.version], [1, 1, 1])
      assert.equal(new Set([saved.commit, disabled.commit, enabled.commit]).size, 3)
    })

    story('go back to the document of any of their commits, as a new one', async ({ flows }) => {
      const { commit } = await flows.save('boiler', { document: boiler('first') }, 'ada')
      await flows.save('boiler', { document: boiler('second') }, 'ada')
      assert.match(Buffer.from(await flows.commitText('boiler', commit)).toString(), /first/)
      assert.equal((await flows.restore('boiler', commit, 'bob')).version, 3)
      assert.match(flows.source('boiler', 'smooth').source, /first/)
      await refused('commit_not_found', () => flows.restore('boiler', '0'.repeat(64), 'bob'))
      assert.equal(flows.get('boiler').version, 3)
    })

    story('show the source of a node, and refuse one that they do not have', async ({ flows }) => {
      await flows.save('boiler', { document: boiler() }, 'ada')
      assert.equal(flows.source('boiler', 'smooth').missing, false)
      await refused('node_not_found', () => flows.source('boiler', 'other'))
      await refused('flow_not_found', () => flows.source('tank', 'smooth'))
    })
  })

  describe(`messages of ${kind}`, () => {
    story('have no value at first, then count up from version 1', async ({ flows, messages }) => {
      await flows.save('boiler', { document: boiler() }, 'ada')
      const { version, value, updated_at, publisher } = messages.get('boiler.raw')
      assert.deepEqual([version, value, updated_at, publisher], [0, null, null, null])
      assert.equal(messages.get('boiler.mean').publisher, 'boiler.smooth')
      assert.deepEqual(messages.publish([{ name: 'boiler.raw', value: 1.5 }]), [{ name: 'boiler.raw', version: 1 }])
      assert.deepEqual(messages.publish([{ name: 'boiler.raw', value: 2 }]), [{ name: 'boiler.raw', version: 2 }])
      assert.equal(messages.get('boiler.raw').value, 2)
      assert.deepEqual(await messages.publishDurably([{ name: 'boiler.raw', value: 3 }]), [
        { name: 'boiler.raw', version: 3 },
      ])
      const { items } = await messages.history('boiler.raw', WHOLE)
      assert.deepEqual(
        items.map(item => ('value' in item ? item.value : null)),
        [1.5, 2, 3],
      )
    })

    story('of a list are published all, or none when one of them is refused', async ({ flows, messages }) => {
      await flows.save('boiler', { document: boiler() }, 'ada')
      const good = { name: 'boiler.raw', value: 1 }
      await refused('wrong_dtype', () => messages.publish([good, { name: 'boiler.raw', value: 'hot' }]))
      await refused('message_not_found', () => messages.publish([good, { name: 'boiler.other', value: 1 }]))
      assert.equal(messages.get('boiler.raw').version, 0)
      assert.deepEqual(
        messages.publish([good, good]).map(({ version }) => version),
        [1, 2],
      )
    })

    story('are listed as they were declared, of all flows or of one', async ({ flows, messages }) => {
      for (const name of ['tank', 'boiler']) await flows.save(name, { document: boiler() }, 'ada')
      const names = (flow: string | null): string[] => messages.list({ ...PAGE, flow }).items.map(({ name }) => name)
      assert.deepEqual(names(null), ['tank.raw', 'tank.mean', 'boiler.raw', 'boiler.mean'])
      assert.deepEqual(names('tank'), ['tank.raw', 'tank.mean'])
      assert.deepEqual(names('kettle'), [])
      assert.deepEqual(messages.list({ limit: 1, offset: 3, flow: null }).count, 4)
    })
  })

  describe(`nodes and records of ${kind}`, () => {
    story('are refused by name when there is no such thing', async ({ nodes, observe, runs }) => {
      await refused('node_not_found', () => nodes.errors('boiler.smooth'))
      await refused('node_not_found', () => nodes.acknowledge('boiler.smooth', 'ada'))
      await refused('cascade_not_found', () => observe.cascade('019b0000-0000-7000-8000-000000000000'))
      await refused('run_not_found', () => runs.get('019b0000-0000-7000-8000-000000000000'))
      await refused('flow_not_found', () => runs.create('boiler', {}, 'ada'))
    })

    story('have no errors at first', async ({ flows, nodes }) => {
      await flows.save('boiler', { document: boiler() }, 'ada')
      assert.deepEqual(await nodes.errors('boiler.smooth'), { items: [], count: 0 })
    })

    story('are well when nothing is broken', async ({ flows, observe }) => {
      await flows.save('boiler', { document: boiler() }, 'ada')
      assert.deepEqual(await observe.health(), { status: 'ok' })
      const { flows: counts } = await observe.summary()
      assert.deepEqual([counts.total, counts.enabled, counts.with_issues], [1, 1, 0])
    })
  })
}
