import assert from 'node:assert/strict'
import { test } from 'node:test'
import { examples } from '../../docs/examples/index.ts'
import type { FlowDocument } from '../../protocol/nouns/flow-document.ts'
import type { Engine } from '../../server/engine.ts'
import { alarmChanges, judge, readingTimestamps } from '../kit/examples.ts'
import { eventually, liveEngine } from '../kit/live-engine.ts'

const document = (name: string): FlowDocument => examples().find(example => example.name === name)!.document

const history = async (engine: Engine, name: string): Promise<unknown[]> => {
  const whole = { since_us: null, until_us: null, limit: 10_000, bucket_s: null }
  const { items } = await engine.messages.history(name, whole)
  return items.map(item => ('value' in item ? item.value : null))
}

test('the machine example goes through the engine at full speed, and its alarm fires where it should', async t => {
  const { engine } = await liveEngine(t)
  const machine = document('machine')
  Object.assign(machine.nodes.find(node => node.id === 'replay')!.settings!, { speed: 0, repeat: false })
  const saved = await engine.flows.create({ name: 'machine', document: machine }, 'tests')
  assert.deepEqual(saved.issues, [])
  const readings = readingTimestamps().length
  await eventually(() => engine.messages.get('machine.reading').version === readings, 'every reading')
  const { version } = engine.messages.get('machine.changed_at')
  await eventually(
    async () => (await history(engine, 'machine.changed_at')).length === version,
    'the history of the alarm',
  )
  const raised = await history(engine, 'machine.alarm')
  const changed_at = await history(engine, 'machine.changed_at')
  const changes = changed_at.map((reading, at) => ({ alarm: raised[at] === 1, changed_at: reading as number }))
  assert.deepEqual(changes, await alarmChanges())
  const verdict = judge(changes)
  assert.ok(verdict.windows.filter(found => found !== null).length >= 2, JSON.stringify(verdict))
  assert.ok(verdict.false_alarms.length < 10, JSON.stringify(verdict))
  const status = engine.flows.get('machine').node_status
  for (const node of status) assert.equal(node.errors, 0, node.id)
  assert.equal(status.find(node => node.id === 'alarm')!.executions, readings)
})

test('the host example measures on and on', async t => {
  const { engine } = await liveEngine(t)
  const host = document('host')
  Object.assign(host.nodes.find(node => node.id === 'tick')!.settings!, { every_s: 0.05 })
  await engine.flows.create({ name: 'host', document: host }, 'tests')
  await eventually(() => engine.messages.get('host.cpu_used_share').version > 2, 'three ticks')
  const share = engine.messages.get('host.memory_used_share').value
  assert.ok(typeof share === 'number' && share > 0 && share < 1)
})

test('stored as they are, the examples pass every check of a save', async t => {
  const { engine } = await liveEngine(t)
  for (const { name, document } of examples()) {
    const saved = await engine.flows.create({ name, document }, 'tests')
    assert.deepEqual(saved.issues, [], name)
  }
  await eventually(() => engine.messages.get('machine.smoothed').version > 1, 'two readings')
})
