import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  checkInputs,
  type Fits,
  inputsOf,
  type RunInput,
  terminalOf,
  unknownInputs,
} from '../../../core/runs/inputs.ts'
import { referencesIn, replaceReferences } from '../../../core/runs/references.ts'
import { limits } from '../../../protocol/limits.ts'
import type { FlowDocument } from '../../../protocol/nouns/flow-document.ts'
import type { Dtype } from '../../../protocol/values/dtype.ts'
import { checked, code, rules } from '../../kit/flow-documents.ts'

const fits: Fits = (value, dtype) => rules.fits(value, dtype)?.text ?? null
const nowhere = (): null => null
const inputsIn = (document: FlowDocument, worldDtype: (message: string) => Dtype | null = nowhere): RunInput[] =>
  inputsOf(checked(document), worldDtype, ({ id }) => id.startsWith('source'))
const namesIn = (document: FlowDocument): string[] => inputsIn(document).map(input => input.name)

describe('the inputs of a flow', () => {
  test('are what its nodes read and none of them produces', () => {
    assert.deepEqual(
      namesIn({ nodes: [code('a', 'raw', 'mean'), code('b', 'mean limit', 'alarm'), code('c', 'alarm raw', '')] }),
      ['raw', 'limit'],
    )
  })

  test('are also what it declares, read or not, and those come first', () => {
    const inputs = [
      { message: 'unread', dtype: 'str' as const },
      { message: 'raw', dtype: 'int' as const, default: 4 },
    ]
    assert.deepEqual(inputsIn({ nodes: [code('a', 'raw other', 'x')], inputs }), [
      { name: 'unread', dtype: 'str' },
      { name: 'raw', dtype: 'int', default: 4 },
      { name: 'other', dtype: 'float' },
    ])
  })

  test("hold another flow's messages by their qualified names, with the dtype that they have there", () => {
    const document = { nodes: [code('a', 'there.x gone.y f.own', 'own')] }
    assert.deepEqual(
      inputsIn(document, message => (message === 'there.x' ? 'int' : null)),
      [
        { name: 'there.x', dtype: 'int' },
        { name: 'gone.y', dtype: 'float' },
      ],
    )
  })

  test('hold what a source of the flow makes and another node of it reads, with the dtype of the source', () => {
    const document: FlowDocument = { nodes: [code('source', '', 'raw unread'), code('a', 'raw', 'mean')] }
    document.nodes[0]!.ports.outputs![0]!.dtype = 'int'
    assert.deepEqual(inputsIn(document), [{ name: 'raw', dtype: 'int' }])
  })

  test('do not hold what a node of the flow makes for itself', () => {
    assert.deepEqual(namesIn({ nodes: [code('loop', 'start back', 'back')] }), ['start'])
  })
})

test('terminal messages are those that the flow makes and no node of it reads', () => {
  const document = { nodes: [code('a', 'raw', 'mean spread'), code('b', '!mean', 'alarm'), code('c', 'spread', '')] }
  assert.deepEqual(terminalOf(checked(document)), ['alarm'])
})

describe('the values of a run', () => {
  const inputs: RunInput[] = [
    { name: 'raw', dtype: 'float' },
    { name: 'limit', dtype: 'float', default: 3 },
    { name: 'seed', dtype: 'int', default: 1 },
  ]

  test('are those given, then the seed, then the defaults', () => {
    assert.deepEqual(checkInputs(inputs, { raw: 1 }, null, fits), {
      resolved: { raw: 1, limit: 3, seed: 1 },
      errors: [],
    })
    assert.deepEqual(checkInputs(inputs, { raw: 1, limit: 9 }, 7, fits).resolved, { raw: 1, limit: 9, seed: 7 })
    assert.deepEqual(checkInputs(inputs, { raw: 1, seed: 5 }, null, fits).resolved, { raw: 1, limit: 3, seed: 5 })
  })

  test('a value that is null or false is a value', () => {
    const nullable: RunInput[] = [
      { name: 'a', dtype: 'json', default: 1 },
      { name: 'b', dtype: 'bool', default: true },
      { name: 'c', dtype: 'json', default: null },
    ]
    assert.deepEqual(checkInputs(nullable, { a: null, b: false }, null, fits), {
      resolved: { a: null, b: false, c: null },
      errors: [],
    })
  })

  test('a seed without an input of that name is no error, and reaches nothing', () => {
    assert.deepEqual(checkInputs([], {}, 7, fits), { resolved: {}, errors: [] })
  })

  test('a seed given twice must be one', () => {
    assert.deepEqual(checkInputs(inputs, { raw: 1, seed: 7 }, 7, fits).errors, [])
    assert.deepEqual(checkInputs(inputs, { raw: 1, seed: 8 }, 7, fits).errors, [
      { loc: 'body.inputs.seed', msg: 'is 8, but the seed of the run is 7; give only one of them' },
    ])
  })

  test('each input without value or default is named', () => {
    const needed: RunInput[] = [...inputs, { name: 'there.x', dtype: 'image' }]
    assert.deepEqual(checkInputs(needed, {}, null, fits).errors, [
      { loc: 'body.inputs.raw', msg: 'needs a value: it has no default (float)' },
      { loc: 'body.inputs["there.x"]', msg: 'needs a value: it has no default (image)' },
    ])
  })

  test('each name that the flow does not have and each value that does not fit is named', () => {
    const { errors } = checkInputs(inputs, { raw: 'high', ray: 1, constructor: 2 }, null, fits)
    assert.deepEqual(
      errors.map(error => error.loc),
      ['body.inputs.ray', 'body.inputs.constructor', 'body.inputs.raw'],
    )
    assert.match(errors[0]!.msg, /not an input of the flow; it has raw, limit, seed/)
    assert.match(errors[2]!.msg, /expected a finite number \(float\), got "high"/)
  })

  test('a name that every object inherits is no value of its own', () => {
    assert.equal(checkInputs([{ name: 'toString', dtype: 'json' }], {}, null, fits).errors.length, 1)
  })

  test('an answer carries so many errors and no more', () => {
    const given = Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`x${index}`, 1]))
    assert.equal(checkInputs([], given, null, fits).errors.length, limits.ERROR_PLACES)
  })
})

describe('references among the inputs of a run', () => {
  const RUN = '0190f3c2-7b1e-7cc3-98c4-dc0c0c07398f'
  const DIGEST = `sha256:${'0a'.repeat(32)}`

  test("are whole values: a run's output, or the digest of an artifact", () => {
    assert.deepEqual(
      referencesIn({
        a: `@run:${RUN}.mean`,
        b: DIGEST,
        c: `see ${DIGEST}`,
        d: [DIGEST],
        e: DIGEST.toUpperCase(),
        f: 4,
        g: `@run:${RUN}.flow.mean`,
      }),
      {
        references: [
          { kind: 'run', input: 'a', text: `@run:${RUN}.mean`, run: RUN, output: 'mean' },
          { kind: 'artifact', input: 'b', digest: DIGEST },
          { kind: 'run', input: 'g', text: `@run:${RUN}.flow.mean`, run: RUN, output: 'flow.mean' },
        ],
        errors: [],
      },
    )
  })

  test("a text that begins like a run's output and is none is refused, since the spelling is reserved", () => {
    const given = { a: '@run:latest.mean', b: `@run:${RUN}`, c: `@run:${RUN}.mean and more`, d: '@running' }
    assert.deepEqual(
      referencesIn(given).errors.map(error => error.loc),
      ['body.inputs.a', 'body.inputs.b', 'body.inputs.c'],
    )
  })

  test('are replaced by what the run holds, taken as it is', () => {
    const given = { a: `@run:${RUN}.mean`, b: 2 }
    const { references } = referencesIn(given)
    const replaced = replaceReferences(given, references, [{ name: 'a', dtype: 'str' }], reference => {
      assert.deepEqual([reference.run, reference.output], [RUN, 'mean'])
      return DIGEST
    })
    assert.deepEqual(replaced, { a: DIGEST, b: 2 })
  })

  test('a digest becomes a reference that its dtype can carry, and stays text on the others', () => {
    const dtypes: Dtype[] = ['image', 'audio', 'video', 'artifact', 'json', 'str', 'float']
    const inputs = dtypes.map(dtype => ({ name: `of_${dtype}`, dtype }))
    const given = Object.fromEntries(inputs.map(input => [input.name, DIGEST]))
    const replaced = replaceReferences(given, referencesIn(given).references, inputs, () => assert.fail('no run'))
    assert.deepEqual(replaced, {
      of_image: { digest: DIGEST, media_type: 'image/*' },
      of_audio: { digest: DIGEST, media_type: 'audio/*' },
      of_video: { digest: DIGEST, media_type: 'video/*' },
      of_artifact: { digest: DIGEST, media_type: 'application/octet-stream' },
      of_json: { digest: DIGEST, media_type: 'application/octet-stream' },
      of_str: DIGEST,
      of_float: DIGEST,
    })
    const { errors } = checkInputs(inputs, replaced, null, fits)
    assert.deepEqual(
      errors.map(error => error.loc),
      ['body.inputs.of_float'],
    )
  })
})

test('of a request with very many inputs that the flow does not have the first hundred are named', () => {
  const inputs: RunInput[] = [{ name: 'x', dtype: 'int' }]
  const given = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, at]))
  assert.deepEqual(unknownInputs(inputs, { x: 1, ...given(limits.ERROR_PLACES - 1) }), [])
  const errors = unknownInputs(inputs, { x: 1, ...given(1_000) })
  assert.equal(errors.length, limits.ERROR_PLACES)
  assert.deepEqual(errors[0], { loc: 'body.inputs.k0', msg: 'is not an input of the flow; it has x' })
})
