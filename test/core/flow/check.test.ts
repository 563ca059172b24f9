import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { checkDocument } from '../../../core/flow/check.ts'
import { type ErrorCode, ServiceError } from '../../../protocol/errors.ts'
import { limits } from '../../../protocol/limits.ts'
import type { FlowDocument, FlowNode } from '../../../protocol/nouns/flow-document.ts'
import { BODY, checked, code, noWorld, rules, worldOf } from '../../kit/flow-documents.ts'

/** The refusal as `[code, place: sentence, ...]`. */
function refusal(raw: unknown, world = noWorld): [ErrorCode, ...string[]] {
  try {
    checkDocument('f', raw, world, rules)
  } catch (error) {
    assert.ok(error instanceof ServiceError, String(error))
    assert.equal(error.status, 422)
    return [error.code, ...error.errors.map(({ loc, msg }) => `${loc}: ${msg}`)]
  }
  throw new assert.AssertionError({ message: 'the document was accepted' })
}
const refusedNode = (node: unknown): [ErrorCode, ...string[]] => refusal({ nodes: [node] })
const a = code('a', 'given', 'x')

describe('the shape of a document', () => {
  test('what is no document at all', () => {
    for (const raw of [null, 5, 'text', [], true, undefined])
      assert.match(refusal(raw)[1] ?? '', /^\(document\): must be an object, not /)
    assert.deepEqual(refusal({}), ['validation', 'nodes: is missing'])
    assert.deepEqual(refusal({ nodes: {} }), ['validation', 'nodes: must be a list, not an object'])
    assert.deepEqual(refusal({ nodes: [], extra: 1 }), [
      'validation',
      'extra: is not a known key; known are nodes, inputs, on_restart',
    ])
  })

  test('each place is named once, in a sentence', () => {
    assert.deepEqual(
      refusedNode({
        ...a,
        id: '9 lives',
        language: 'ruby',
        source: 5,
        ports: { outputs: [{ name: 'x', dtype: 'number', message: 'other.y', rate_hz: -1, colour: 'red' }] },
        resources: { gpus: -1, ram: '2 GB' },
        timeout: 0,
        isolation: 'thread',
        position: { x: 1 },
      }),
      [
        'validation',
        'nodes[0].id: "9 lives" is not a name (letters, digits, _ and -, at most 64, no digit or - first)',
        'nodes[0].language: must be "ts", "js" or "python", not "ruby"',
        'nodes[0].source: must be a string or null, not 5',
        'nodes[0].ports.outputs[0].dtype: must be "bool", "int", "float", "str", "json", "image", "audio", "video" or "artifact", not "number"',
        'nodes[0].ports.outputs[0].message: "other.y" is not a name (letters, digits, _ and -, at most 64, no digit or - first)',
        'nodes[0].ports.outputs[0].rate_hz: must be at least 0.000001, not -1',
        'nodes[0].ports.outputs[0].colour: is not a known key; known are name, dtype, message, rate_hz',
        'nodes[0].resources.gpus: must be at least 0, not -1',
        'nodes[0].resources.ram: "2 GB" does not match ^[0-9]+(\\.[0-9]+)?[KMGT]?$ (such as 512M or 2G)',
        'nodes[0].timeout: must be more than 0, not 0',
        'nodes[0].isolation: must be "process" or null, not "thread"',
        'nodes[0].position.y: is missing',
      ],
    )
  })

  test('too many nodes, ports or inputs are counted, not listed', () => {
    assert.deepEqual(refusal({ nodes: new Array(2_001).fill(5) }), [
      'validation',
      'nodes: has 2001 items; at most 2000 are allowed',
    ])
    const ports = Array.from({ length: 65 }, (_, index) => ({ name: `p${index}`, dtype: 'int' }))
    assert.deepEqual(refusedNode({ ...a, ports: { inputs: ports } }), [
      'validation',
      'nodes[0].ports.inputs: has 65 items; at most 64 are allowed',
    ])
    assert.equal(refusal({ nodes: [], inputs: new Array(1_000_000).fill(null) }).length, 2)
  })

  test('of very many faults the first hundred are named', () => {
    const places = refusal({ nodes: new Array(2_000).fill(5) }).slice(1)
    assert.equal(places.length, limits.ERROR_PLACES)
    assert.equal(places[99], 'nodes[99]: must be an object, not 5')
    const unknown = Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`k${at}`, at]))
    const known_last = refusal({ ...unknown, nodes: [], on_restart: 5 }).slice(1)
    assert.equal(known_last.length, limits.ERROR_PLACES)
    assert.match(known_last[0]!, /^on_restart: must be/)
    assert.match(known_last[99]!, /^k98: is not a known key/)
  })

  test('a key that is no property of ours is refused wherever it comes from', () => {
    const document = JSON.parse('{"nodes":[{"id":"a","type":"code","ports":{},"__proto__":{"source":"x"}}]}')
    assert.match(refusal(document)[1] ?? '', /^nodes\[0\]\.__proto__: is not a known key/)
    assert.match(
      refusedNode({ type: 'code', ports: {}, constructor: 1 }).join(' '),
      /id: is missing.*constructor: is not/,
    )
    assert.match(refusedNode({ ...a, id: '__proto__' })[1] ?? '', /^nodes\[0\]\.id: "__proto__" is not a name/)
    const env = JSON.parse('{"__proto__":"x"}')
    assert.match(refusedNode({ ...a, resources: { env } })[1] ?? '', /^nodes\[0\]\.resources\.env/)
  })

  test('variables that no process could have, each by itself and all of them together', () => {
    const refused = (env: unknown): string => refusedNode({ ...a, resources: { env } }).join(' ')
    for (const name of ['', '1A', 'A=B', 'A B', 'A\0', 'a'.repeat(129)])
      assert.match(
        refused({ [name]: 'x' }),
        /^bad_resources nodes\[0\]\.resources\.env\S* .*is not a name of a variable/,
      )
    assert.match(refused({ 'A=B': 5 }), /^bad_resources/)
    assert.match(
      refused({ A: 'x\0y' }),
      /^bad_resources nodes\[0\]\.resources\.env\.A: .*the value of A contains a NUL/,
    )
    assert.match(
      refused({ A: 'x'.repeat(limits.VARIABLE_CHARACTERS + 1) }),
      /^validation nodes\[0\]\.resources\.env\.A/,
    )
    const many = Object.fromEntries(Array.from({ length: 17 }, (_, at) => [`A${at}`, 'x'.repeat(4_000)]))
    assert.match(refused(many), /^bad_resources nodes\[0\]\.resources\.env: .*takes 68\d+ bytes; at most 65536/)
    checked({ nodes: [{ ...a, resources: { env: { A: 'ü'.repeat(4_096), _b9: '' } } }] })
  })

  test('settings carry what JSON can, and no more', () => {
    const settings = (text: string): string => refusedNode({ ...a, settings: JSON.parse(text) }).join(' ')
    assert.match(settings('{"a":{"__proto__":1}}'), /bad_settings nodes\[0\]\.settings: node "a": the key "__proto__"/)
    assert.match(settings(`${'{"a":'.repeat(70)}1${'}'.repeat(70)}`), /nested more than 64 levels/)
    assert.match(settings(JSON.stringify({ long: 'x'.repeat(limits.SETTINGS_BYTES) })), /more than 262144 bytes/)
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
    assert.match(settings(`{"deep":${deep}}`), /nested more than 64 levels/)
  })
})

describe('names and producers', () => {
  test('an id used twice', () => {
    assert.deepEqual(refusal({ nodes: [a, code('b', '', ''), code('a', '', '')] }), [
      'duplicate_name',
      'nodes[2].id: "a" is the id of nodes[0] already',
    ])
  })

  test('a port name used twice on one side; the same name on both sides is allowed', () => {
    const port = { name: 'x', dtype: 'float' as const }
    assert.deepEqual(refusedNode({ ...a, ports: { inputs: [port, { ...port, message: 'y' }] } }), [
      'duplicate_name',
      'nodes[0].ports.inputs[1].name: node "a" has another input port "x"',
    ])
    assert.deepEqual(refusedNode({ ...a, ports: { outputs: [port, port] } }), [
      'duplicate_name',
      'nodes[0].ports.outputs[1].name: node "a" has another output port "x"',
    ])
    checkDocument('f', { nodes: [{ ...a, ports: { inputs: [port], outputs: [port] } }] }, noWorld, rules)
  })

  test('a message has one producer', () => {
    assert.deepEqual(refusal({ nodes: [a, code('b', '', 'y x')] }), [
      'second_producer',
      'nodes[1].ports.outputs[1].message: "x" is produced by node "a" already',
    ])
    assert.deepEqual(refusal({ nodes: [a], inputs: [{ message: 'x', dtype: 'float' }] }), [
      'second_producer',
      `nodes[0].ports.outputs[0].message: "x" is produced by the flow's inputs already`,
    ])
    const twice = [1, 2].map(() => ({ message: 'raw', dtype: 'float' }))
    assert.deepEqual(refusal({ nodes: [], inputs: twice }), [
      'duplicate_name',
      'inputs[1].message: "raw" is a flow input already',
    ])
  })

  test('faults of several kinds come together as one validation', () => {
    const [first, ...places] = refusal({ nodes: [a, code('a', '', 'x'), { ...code('c', '', ''), type: 'nothing' }] })
    assert.equal(first, 'validation')
    assert.deepEqual(
      places.map(place => place.split(':')[0]),
      ['nodes[1].id', 'nodes[1].ports.outputs[0].message', 'nodes[2].type'],
    )
  })
})

describe('wiring', () => {
  const boiler = {
    name: 'boiler',
    document: { nodes: [code('b', '', 'raw', 'float')], inputs: [{ message: 'set', dtype: 'str' as const }] },
  }

  test('both ends of a wire agree', () => {
    assert.deepEqual(refusal({ nodes: [code('a', '', 'x', 'float'), code('b', 'x', '', 'int')] }), [
      'dtype_mismatch',
      'nodes[1].ports.inputs[0].dtype: port "in0" of node "b" expects int, but "x" carries float',
    ])
    assert.deepEqual(refusal({ nodes: [code('a', 'boiler.set', '', 'float')] }, worldOf(boiler)), [
      'dtype_mismatch',
      'nodes[0].ports.inputs[0].dtype: port "in0" of node "a" expects float, but "boiler.set" carries str',
    ])
    for (const [source, target] of [
      ['int', 'float'],
      ['image', 'artifact'],
      ['bool', 'json'],
    ] as const)
      checkDocument('f', { nodes: [code('a', '', 'x', source), code('b', 'x', '', target)] }, noWorld, rules)
  })

  test('a flow or message that is not there yet is an issue, not a refusal', () => {
    const document = { nodes: [code('a', 'boiler.raw boiler.none nowhere.x lost', '')] }
    const { issues } = checkDocument('f', document, worldOf(boiler), rules)
    assert.deepEqual(
      issues.map(({ code: kind, node, message }) => [kind, node, message]),
      [
        [
          'unknown_message',
          'a',
          'Port "in1" of node "a" reads "boiler.none", but flow "boiler" has no message "none".',
        ],
        ['unknown_flow', 'a', 'Port "in2" of node "a" reads "nowhere.x", but there is no flow "nowhere".'],
        ['unknown_message', 'a', 'Port "in3" of node "a" reads "lost", which nothing in this flow produces.'],
      ],
    )
  })

  test('an input that only batch runs give is no issue of a flow that nothing else can wake', () => {
    const issuesOf = (nodes: FlowNode[], inputs: FlowDocument['inputs'] = []) =>
      checkDocument('f', { nodes, inputs: inputs! }, worldOf(boiler), rules).issues.map(issue => issue.code)
    assert.deepEqual(issuesOf([code('a', 'x', 'y'), code('b', 'y seed', 'z')]), [])
    assert.deepEqual(issuesOf([code('a', 'x', 'y')], [{ message: 'other', dtype: 'float' }]), ['unknown_message'])
    assert.deepEqual(issuesOf([code('a', 'x boiler.raw', 'y')]), ['unknown_message'])
  })

  test('a flow may name its own message with the flow in front, and means it', () => {
    const { document, issues } = checkDocument(
      'f',
      { nodes: [a, code('b', 'f.x', '')], inputs: [{ message: 'given', dtype: 'float' }] },
      noWorld,
      rules,
    )
    assert.equal(document.nodes[1]?.ports.inputs[0]?.message, 'x')
    assert.deepEqual(issues, [])
  })
})

describe('the parts of a node', () => {
  test('an unknown type names the known ones', () => {
    const known = Object.keys(rules.types).join(', ')
    assert.match(known, /^code, inject, /)
    for (const type of ['Code', 'constructor', 'toString'])
      assert.deepEqual(refusedNode({ ...a, type }), [
        'unknown_node_type',
        `nodes[0].type: "${type}" is no node type; known are ${known}`,
      ])
  })

  test('a flavor together with another number for the same dimension', () => {
    assert.deepEqual(refusedNode({ ...a, resources: { flavor: 'small', cpus: 3, gpus: 1, ram: '1G' } }), [
      'flavor_conflict',
      'nodes[0].resources.cpus: node "a" asks for 3 of cpus, and its flavor "small" gives 2',
      'nodes[0].resources.ram: node "a" asks for 1024 of ram, and its flavor "small" gives 2048',
    ])
    assert.deepEqual(refusedNode({ ...a, resources: { flavor: 'timed' }, duration_s: 61 }), [
      'flavor_conflict',
      'nodes[0].duration_s: node "a" asks for 61 of duration_s, and its flavor "timed" gives 60',
    ])
  })

  test('but not with the same number, which is its flavor again, nor with one that the flavor leaves open', () => {
    const resources = { flavor: 'small', cpus: 2, gpus: 1, ram: '2G', env: {} }
    const [node] = checked({ nodes: [{ ...a, resources, duration_s: 5 }] }).nodes
    assert.deepEqual(node!.resources, { cpus: null, gpus: 1, ram: null, env: {}, flavor: 'small' })
    assert.equal(node!.duration_s, 5)
    assert.deepEqual(checked({ nodes: [node!] }).nodes, [node], 'what was read is written back')
  })

  test('an unknown flavor, and an invalid memory size', () => {
    assert.deepEqual(refusedNode({ ...a, resources: { flavor: 'huge', cpus: 2 } }), [
      'unknown_flavor',
      'nodes[0].resources.flavor: node "a": there is no flavor "huge"',
    ])
    for (const ram of ['0', '0G', '0.0', '99999T'])
      assert.equal(refusedNode({ ...a, resources: { ram } })[0], 'bad_resources', ram)
  })

  test('a part of a card, naming the node and the number', () => {
    for (const [gpus, whole] of [
      [0.5, 1],
      [1.5, 2],
      [0.0001, 1],
    ] as const)
      assert.deepEqual(refusedNode({ ...a, resources: { gpus } }), [
        'bad_resources',
        `nodes[0].resources.gpus: node "a": ${gpus} is not a whole number of cards; a node holds a card alone, so ask for ${whole}`,
      ])
    for (const gpus of [0, 1, 4]) assert.equal(checked({ nodes: [{ ...a, resources: { gpus } }] }).nodes.length, 1)
  })

  test("a flow input's default fits its dtype", () => {
    const inputs = (dtype: string, value: unknown) => ({
      nodes: [],
      inputs: [{ message: 'raw', dtype, default: value }],
    })
    assert.deepEqual(refusal(inputs('float', 'warm')), [
      'wrong_dtype',
      'inputs[0].default: expected a finite number (float), got "warm"',
    ])
    assert.match(refusal(inputs('int', 1.5))[1] ?? '', /^inputs\[0\]\.default: expected an integer/)
    assert.match(refusal(inputs('bool', null))[1] ?? '', /^inputs\[0\]\.default: expected true or false/)
    for (const [dtype, value] of [
      ['float', 1],
      ['json', null],
      ['str', ''],
    ] as const)
      checkDocument('f', inputs(dtype, value), noWorld, rules)
  })

  test('a syntax error is named with its line and column, and every body is checked', () => {
    const broken = (source: string): FlowNode => ({ ...code('x', '', ''), source })
    const places = refusal({
      nodes: [
        { ...broken('export default () => {\n  let y = ;\n}'), id: 'a' },
        { ...broken('const a = 1'), id: 'b' },
      ],
    })
    assert.deepEqual(places, [
      'validation',
      'nodes[0].source:2:11: node "a": line 2, column 11: Expression expected',
      'nodes[1].source:1:1: node "b": line 1, column 1: nothing is exported as default; write "export default (inputs, ctx) => ({ ... })"',
    ])
    assert.equal(refusedNode(broken('export default ('))[0], 'syntax_error')
  })

  test('the checked bodies come back by node id', () => {
    const document: FlowDocument = {
      nodes: [
        a,
        {
          id: 'tick',
          type: 'inject',
          settings: { once: true },
          ports: { outputs: [{ name: 'given', dtype: 'float' }] },
        },
      ],
    }
    const { bodies } = checkDocument('f', document, noWorld, rules)
    assert.deepEqual([...bodies.keys()], ['a'])
    assert.equal(bodies.get('a')?.code, BODY)
  })
})

test('a document of the largest size is checked', () => {
  const nodes = Array.from({ length: limits.FLOW_NODES }, (_, index) =>
    code(`n${index}`, `m${index - 1}`.replace('m-1', 'given'), `m${index}`),
  )
  assert.equal(
    checkDocument('f', { nodes, inputs: [{ message: 'given', dtype: 'float' }] }, noWorld, rules).issues.length,
    0,
  )
})
