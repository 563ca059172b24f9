import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Flow, node, SdkError, use } from '../../../clients/sdk/index.ts'
import { checkDocument } from '../../../core/flow/check.ts'
import { BODY, noWorld, rules } from '../../kit/flow-documents.ts'

const clean = node(
  { id: 'clean', inputs: { raw: 'float' }, outputs: { value: 'float' }, settings: { floor: 0, unit: 'C' } },
  ({ raw }, ctx) => ({ value: Math.max(raw, ctx.settings.floor) }),
)
const alarm = node({ inputs: { value: 'float' }, outputs: { raised: { dtype: 'bool', rate_hz: 2 } } }, ({ value }) => ({
  raised: value > 9,
}))
const counter = node({ inputs: { value: 'int' }, outputs: { count: 'int' } }, ({ value }) => ({ count: value }))
/** What types would refuse. */
const untyped = (value: unknown) => value as never

const refused = (make: () => unknown, says: RegExp): void =>
  assert.throws(make, error => error instanceof SdkError && says.test(error.message))

describe('a run of a flow in code', () => {
  test('is told to be caused by the SDK, whatever else is asked of it', async () => {
    const asked: unknown[] = []
    const runs = { create: async (...given: unknown[]) => ({ given: asked.push(given) }) }
    const flow = Flow('boiler', [clean])
    await flow.run({ runs }, { inputs: { raw: 1 }, seed: 7 })
    await flow.run({ runs })
    assert.deepEqual(asked, [
      ['boiler', { inputs: { raw: 1 }, seed: 7, cause: 'sdk' }],
      ['boiler', { cause: 'sdk' }],
    ])
  })
})

describe('a flow in code', () => {
  const flow = Flow(
    'boiler',
    [clean, alarm, use(clean, { id: 'cold', wire: { raw: 'other.raw', value: 'low' }, floor: -9 })],
    { inputs: { raw: { default: 20 } } },
  )

  test('is a document with every default, whose unwired inputs are those of the flow', () => {
    const document = flow.document({ alarm })
    assert.deepEqual(
      document.nodes.map(({ id, settings }) => [id, settings]),
      [
        ['clean', { floor: 0, unit: 'C' }],
        ['alarm', {}],
        ['cold', { floor: -9, unit: 'C' }],
      ],
    )
    assert.deepEqual(document.inputs, [{ message: 'raw', dtype: 'float', default: 20 }])
    assert.deepEqual(document.nodes[2]!.ports.inputs, [
      { name: 'raw', dtype: 'float', message: 'other.raw', trigger: true },
    ])
    const stored = { ...document, nodes: document.nodes.map(each => ({ ...each, source: BODY })) }
    assert.deepEqual(checkDocument('boiler', stored, noWorld, rules).document, stored, 'a save changes nothing of it')
  })

  test('gives another document each time, and what is done to one is not done to the next', () => {
    const first = flow.document({ alarm })
    first.nodes[0]!.settings['floor'] = 100
    first.inputs.length = 0
    assert.notDeepEqual(flow.document({ alarm }), first)
    assert.deepEqual(clean.definition.settings, { floor: 0, unit: 'C' })
  })

  test('names nodes by their use, by themselves, or by their export', () => {
    const ids = (...exported: object[]) => flow.document(...(exported as never[])).nodes.map(({ id }) => id)
    assert.deepEqual(ids({ default: alarm, siren: alarm }), ['clean', 'siren', 'cold'])
    refused(() => ids(), /A node of flow "boiler" has no id \(its outputs: raised\)/)
    refused(() => ids({ default: alarm }), /has no id/)
    refused(() => ids({ $alarm: alarm }), /exported as "\$alarm", which is no name/)
    refused(() => ids({ cold: alarm }), /has two nodes "cold"/)
  })

  test('calls its own messages without its name', () => {
    const own = Flow('boiler', [use(clean, { wire: { raw: 'boiler.raw' } })])
    assert.deepEqual(own.document().inputs, [{ message: 'raw', dtype: 'float' }])
  })

  test('takes for an input the dtype that suits all who read it', () => {
    const inputs = (...nodes: Parameters<typeof Flow>[1]) => Flow('f', nodes).document({ alarm, counter }).inputs
    assert.deepEqual(inputs(alarm, counter), [{ message: 'value', dtype: 'int' }])
    const said = Flow('f', [alarm], { inputs: { value: 'int' } }).document({ alarm }).inputs
    assert.deepEqual(said, [{ message: 'value', dtype: 'int' }])
    const text = node({ id: 'text', inputs: { value: 'str' } }, () => {})
    refused(() => Flow('f', [alarm, text]), /No value suits .* "value" takes float, "value" takes str/)
    refused(() => Flow('f', [counter], { inputs: { value: 'float' } }), /No value suits/)
  })
})

describe('what is put together wrongly is refused at once', () => {
  test('in a flow', () => {
    refused(() => Flow('no name', []), /"no name" is no name of a flow/)
    refused(() => Flow('f', [clean, clean]), /two nodes "clean": give one of them another id/)
    refused(() => Flow('f', [alarm, alarm]), /uses the same node twice/)
    refused(() => Flow('f', [clean, use(clean, { id: 'b' })]), /"value" of flow "f" has two producers/)
    refused(() => Flow('f', [clean, counter]), /takes int, but "value" carries float/)
    refused(() => Flow('f', [clean], { inputs: { rwa: 'float' } }), /No node of flow "f" reads the input "rwa"/)
    refused(() => Flow('f', [clean, alarm], { inputs: { value: 'float' } }), /is produced by one of its nodes/)
    refused(() => Flow('f', [untyped(() => {})]), /neither a node nor a use/)
  })

  test('in a use', () => {
    refused(
      () => use(clean, untyped({ wire: { q: 'm' } })),
      /"clean" has no port "q" to wire. Its ports are raw, value/,
    )
    refused(() => use(clean, { wire: { value: 'other.m' } }), /which is no name of a message/)
    refused(() => use(clean, untyped({ flor: 1 })), /no setting "flor". Its settings are floor, unit/)
    refused(() => use(clean, { floor: Number.NaN }), /The settings of node "clean": .*NaN/)
    refused(() => use(clean, { id: 'a b' }), /"a b" is no name of a node/)
    refused(() => use(untyped({}), {}), /not made by "node/)
  })

  test('in a node', () => {
    const make = (options: object, body: unknown = () => {}) => node(options as never, body as never)
    refused(() => make({ id: 'n', cahce: true }), /node "n" says "cahce"; a node takes id, inputs/)
    refused(() => make({ inputs: { x: 'double' } }), /Input "x" of a node: "double" is no dtype; those are bool, int/)
    refused(
      () => make({ inputs: { x: { dtype: 'int', triger: true } } }),
      /says "triger"; a port takes dtype, message, t/,
    )
    refused(() => make({ inputs: { 'a b': 'int' } }), /"a b" is no name of a port/)
    refused(() => make({ inputs: { x: 'int' }, outputs: { x: 'int' } }), /"x" is an input and an output/)
    refused(() => make({ settings: { wire: 1 } }), /"wire", which "use" takes for itself/)
    refused(() => make({ settings: { at: new Date() } }), /The settings of a node/)
    refused(() => make({ id: 'n' }, 'x => x'), /The body of node "n" is string, not a function/)
  })
})

test('a node is its body, and knows in which shape that answers', () => {
  assert.deepEqual(clean({ raw: -4 }, { settings: { floor: 1 } } as never), { value: 1 })
  const shapes = [clean, node({}, function* () {}), node({}, async function* () {}), node({}, async () => {})]
  assert.deepEqual(
    shapes.map(({ definition }) => definition.shape),
    ['function', 'generator', 'async generator', 'function'],
  )
})
