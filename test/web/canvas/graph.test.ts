import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Graph, graphOf, heightOf } from '../../../clients/web/src/canvas/graph.ts'
import { layoutOf } from '../../../clients/web/src/canvas/layout.ts'
import { speedOf } from '../../../clients/web/src/canvas/pulses.ts'
import type { FlowDocument } from '../../../protocol/nouns/flow-document.ts'
import { seed } from '../../kit/random.ts'

const node = (id: string, inputs: string[], outputs: string[]): FlowDocument['nodes'][number] => ({
  ...{ id, type: 'code' },
  ports: {
    inputs: inputs.map(message => ({ name: message.replace('.', '_'), dtype: 'float', message })),
    outputs: outputs.map(message => ({ name: message, dtype: 'float', message })),
  },
})
const told = ({ boxes, wires }: Graph): string[] => [
  ...boxes.map(({ kind, id }) => `${kind} ${id}`),
  ...wires.map(({ from, to, message }) => `${from} -> ${to}: ${message}`),
]

test('a flow is drawn with its nodes, what comes from outside, and what other flows publish', () => {
  const nodes = [node('smooth', ['raw', 'weather.outside'], ['level']), node('alarm', ['level'], ['on'])]
  assert.deepEqual(told(graphOf('tank', { nodes, inputs: [{ message: 'raw', dtype: 'float' }] })), [
    'input from tank.raw',
    'far from weather.outside',
    'node smooth',
    'node alarm',
    'from tank.raw -> smooth: tank.raw',
    'from weather.outside -> smooth: weather.outside',
    'smooth -> alarm: tank.level',
  ])
})

test('a box is as high as its busier side', () => {
  const [box] = graphOf('f', { nodes: [node('n', ['a', 'b', 'c'], ['d'])] }).boxes.filter(({ kind }) => kind === 'node')
  assert.equal(heightOf(box!), 36 + 3 * 20)
})

test('boxes stand behind what they read, do not cover each other, and a cycle does not keep them from standing', () => {
  const messages = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'far.x')
  const flows = fc.array(fc.tuple(fc.array(messages, { maxLength: 3 }), fc.array(messages, { maxLength: 2 })), {
    maxLength: 12,
  })
  fc.assert(
    fc.property(flows, list => {
      const unique = (names: string[]): string[] => [...new Set(names)]
      const own = (names: string[]): string[] => unique(names).filter(name => !name.includes('.'))
      const nodes = list.map(([inputs, outputs], at) => node(`n${at}`, unique(inputs), own(outputs)))
      const graph = graphOf('f', { nodes })
      const positions = layoutOf(graph)
      assert.equal(positions.size, graph.boxes.length)
      for (const one of graph.boxes)
        for (const other of graph.boxes) {
          if (one === other) continue
          const [a, b] = [positions.get(one.id)!, positions.get(other.id)!]
          const isApart = a.x !== b.x || a.y + heightOf(one) <= b.y || b.y + heightOf(other) <= a.y
          assert.ok(isApart, `${one.id} covers ${other.id}`)
        }
    }),
    { seed },
  )
  const chain = graphOf('f', { nodes: [node('c', ['b'], ['z']), node('a', [], ['a']), node('b', ['a'], ['b'])] })
  const positions = layoutOf(chain)
  assert.ok(positions.get('a')!.x < positions.get('b')!.x && positions.get('b')!.x < positions.get('c')!.x)
})

test('a node keeps the position that its document gives it, and what it reads from outside stands before it', () => {
  const placed = { ...node('n', ['in'], ['a']), position: { x: 7, y: -3 } }
  const positions = layoutOf(graphOf('f', { nodes: [placed], inputs: [{ message: 'in', dtype: 'float' }] }))
  assert.deepEqual([...positions].toSorted(), [
    ['from f.in', { x: 7 - 172 - 76, y: -3 }],
    ['n', { x: 7, y: -3 }],
  ])
})

test('nodes that all have the same position have none', () => {
  const nodes = ['a', 'b'].map(id => ({ ...node(id, [], []), position: { x: 0, y: 0 } }))
  const positions = layoutOf(graphOf('f', { nodes }))
  assert.notDeepEqual(positions.get('a'), positions.get('b'))
})

test('wires pulse in three speeds, and not at all when nothing comes', () => {
  assert.deepEqual([null, 0, 0.5, 1, 99, 100, 1e6].map(speedOf), [
    null,
    null,
    'slow',
    'fast',
    'fast',
    'faster',
    'faster',
  ])
})
