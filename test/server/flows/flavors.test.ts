import assert from 'node:assert/strict'
import { test } from 'node:test'
import { normalize } from '../../../core/flow/normalize.ts'
import { ServiceError } from '../../../protocol/errors.ts'
import type { Flavor } from '../../../protocol/nouns/flavor.ts'
import type { NormalDocument, Resources } from '../../../protocol/nouns/flow-document.ts'
import { LiveFlavors } from '../../../server/flows/flavors.ts'
import { code } from '../../kit/flow-documents.ts'

const SMALL: Flavor = { name: 'small', cpus: 1, gpus: 0, ram: 512, duration_s: null }

function flavors(stored: Flavor[] = [SMALL]) {
  const flows = new Map<string, NormalDocument>()
  const kept = new Map(stored.map(flavor => [flavor.name, flavor]))
  const events: object[] = []
  let last: Promise<unknown> = Promise.resolve()
  const inTurn = <Result>(change: () => Promise<Result>): Promise<Result> => {
    const turn = last.then(change, change)
    last = turn.catch(() => undefined)
    return turn
  }
  const live = new LiveFlavors({
    stored,
    store: {
      put: async flavor => {
        kept.set(flavor.name, flavor)
        return flavor
      },
      delete: async name => kept.delete(name),
    },
    flows: { all: () => [...flows].map(([name, document]) => ({ name, document })), inTurn },
    announce: (type, flow, more) => events.push({ type, flow, ...more }),
  })
  const flow = (name: string, ...resources: Resources[]): void => {
    const nodes = resources.map((declared, at) => ({ ...code(`n${at}`, '', `m${at}`), resources: declared }))
    flows.set(name, normalize({ nodes }))
  }
  return { live, flows, kept, events, flow, inTurn }
}

const refusal = async (promise: Promise<unknown>): Promise<string> => {
  const error = await promise.then(
    () => assert.fail('it was taken'),
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof ServiceError, String(error))
  return `${error.code}: ${error.detail}`
}

test('a flavor is stored under its name, with everything absent left open, and told of', async () => {
  const { live, kept, events } = flavors()
  const stored = await live.put('big', { cpus: 8, ram: '1.5G' }, 'ada')
  assert.deepEqual(stored, { name: 'big', cpus: 8, gpus: null, ram: 1536, duration_s: null })
  assert.deepEqual([kept.get('big'), live.find('big')], [stored, stored])
  assert.deepEqual(live.list({ limit: 1, offset: 0 }), { items: [stored], count: 2 }, 'by name, a page of them')
  assert.deepEqual(events, [
    { type: 'flavor_changed', flow: null, flavor: stored, name: 'big', action: 'saved', by: 'ada' },
  ])
  await live.put('big', { gpus: 2 }, 'ada')
  assert.deepEqual(live.find('big'), { name: 'big', cpus: null, gpus: 2, ram: null, duration_s: null })
})

test('an invalid memory size and an invalid name are refused', async () => {
  const { live, kept, events } = flavors()
  for (const ram of ['2 GB', '0', 'much', ''])
    assert.match(await refusal(live.put('big', { ram }, 'ada')), /^bad_resources: ram: /)
  assert.match(await refusal(live.put('a b', {}, 'ada')), /^validation: /)
  assert.deepEqual([kept.size, events], [1, []])
})

test('a flavor that a node asks for stays, and the refusal names the node', async () => {
  const { live, flows, kept, flow, events } = flavors()
  flow('press', { cpus: 1 }, { flavor: 'small' })
  flow('mill', {}, { flavor: 'small' }, { flavor: 'small' })
  assert.match(
    await refusal(live.remove('small', 'ada')),
    /^flavor_in_use: Node "mill.n1" asks for the flavor "small", and 2 more nodes do\./,
  )
  flows.delete('mill')
  assert.match(await refusal(live.remove('small', 'ada')), /Node "press.n1" asks for the flavor "small"\. /)
  flow('press', { cpus: 1 })
  await live.remove('small', 'ada')
  assert.deepEqual([kept.size, live.find('small'), events.length], [0, null, 1])
  assert.match(await refusal(live.remove('small', 'ada')), /^flavor_not_found/)
})

test('a flavor does not go while a flow that was checked against it is on its way', async () => {
  const { live, kept, flow, inTurn } = flavors()
  const saving = inTurn(async () => {
    await new Promise(resolve => setImmediate(resolve))
    flow('press', { flavor: 'small' })
  })
  assert.match(await refusal(live.remove('small', 'ada')), /^flavor_in_use: Node "press.n0"/)
  await saving
  assert.equal(kept.size, 1)
})

test('an edit that would give a dimension of which a node says another number itself is refused, naming every such node', async () => {
  const { live, kept, events, flow } = flavors()
  flow('boiler', { flavor: 'small', ram: 512 }, { flavor: 'small' })
  flow('kettle', { flavor: 'small', ram: '0.5G' })
  const told = await refusal(live.put('small', { cpus: 1, gpus: 0, ram: 1024 }, 'ada'))
  assert.match(told, /^flavor_conflict: .*"boiler\.n0".*ram.*"kettle\.n0"/)
  assert.deepEqual([kept.get('small'), live.find('small'), events], [SMALL, SMALL, []])
  await live.put('small', { cpus: 2, ram: '0.5G' }, 'ada')
  assert.equal(live.find('small')!.cpus, 2)
})

test('an edit waits for the save of a flow that is on its way, and sees what it saved', async () => {
  const { live, flow, inTurn } = flavors()
  const saved = inTurn(async () => flow('boiler', { flavor: 'small', cpus: 1 }))
  assert.match(await refusal(live.put('small', { cpus: 3 }, 'ada')), /^flavor_conflict: /)
  await saved
})
