import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ServiceError } from '../../protocol/errors.ts'
import type { FlowDocument } from '../../protocol/nouns/flow-document.ts'
import { eventually, liveEngine } from '../kit/live-engine.ts'

const PUBLISHED = 600
const FLOWS = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight']

/** `name` makes the body of each flow a module of its own, so that each is waited for. */
const flow = (name: string): FlowDocument => ({
  inputs: [{ message: 'x', dtype: 'int' }],
  nodes: [
    {
      id: 'body',
      type: 'code',
      source: `// ${name}\nexport default ({ x }: { x: number }) => ({ y: x })`,
      ports: { inputs: [{ name: 'x', dtype: 'int' }], outputs: [{ name: 'y', dtype: 'int' }] },
    },
  ],
})

test('values published while a body is being loaded run in order, and none is forgotten', async t => {
  const { engine } = await liveEngine(t, { FLOW_LANES: '1' })
  for (const name of FLOWS) await engine.flows.create({ name, document: flow(name) }, 'tests')
  const values = Array.from({ length: PUBLISHED }, (_, value) => value)
  // On a machine with more to do than cores a lane may stand still with the word of a flow: then a publish is refused, and asked for again.
  for (const value of values)
    for (const name of FLOWS)
      await eventually(() => {
        try {
          engine.messages.publish([{ name: `${name}.x`, value }])
          return true
        } catch (error) {
          if ((error as ServiceError).code === 'backlogged') return false
          throw error
        }
      }, `${name} takes ${value}`)
  for (const name of FLOWS) {
    await eventually(() => engine.messages.get(`${name}.y`).version === PUBLISHED, `every value of ${name}`)
    const whole = { since_us: null, until_us: null, limit: PUBLISHED, bucket_s: null }
    const seen = async () => (await engine.messages.history(`${name}.y`, whole)).items
    await eventually(async () => (await seen()).length === PUBLISHED, `the history of ${name}`)
    assert.deepEqual(
      (await seen()).map(item => ('value' in item ? item.value : null)),
      values,
    )
  }
  const { cascades } = await engine.observe.summary()
  assert.equal(cascades.in_flight, 0)
})
