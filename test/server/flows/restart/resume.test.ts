import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { DATABASE_FILE } from '../../../../protocol/installation.ts'
import { node } from '../../../kit/flow-story.ts'
import { SteppedEngine, SteppedGraph } from '../../../kit/stepped-engine.ts'
import { temporaryDirectory } from '../../../kit/stored.ts'

test('a join reads the values that stood before the stop, however many newer ones came before the first turn after the start', t => {
  const read: [number, number][] = []
  const nodes = [node('join', 'p q', 'sum', () => 'join', { dtype: 'int' })]
  const graph = new SteppedGraph(
    [{ name: 'f', nodes, reachable: [] }],
    new Map([
      [
        'f.join',
        ({ p, q }) => {
          read.push([p as number, q as number])
        },
      ],
    ]),
  )
  const data_dir = temporaryDirectory(t)
  const time = { ms: 0, origin_us: 1.7e15 }
  const first = new SteppedEngine(data_dir, graph, time, Math.random)
  first.publish('f.p', 1)
  first.publish('f.q', 2)
  first.idle()
  const image = first.image()
  first.crash()
  assert.deepEqual(read.splice(0), [[1, 2]])

  const again = temporaryDirectory(t)
  writeFileSync(join(again, DATABASE_FILE), image)
  const second = new SteppedEngine(again, graph, time, Math.random)
  time.ms += 1000
  second.publish('f.q', 10)
  second.publish('f.p', 20)
  second.publish('f.p', 30)
  second.idle()
  second.crash()
  assert.deepEqual(read, [
    [1, 10],
    [20, 10],
    [30, 10],
  ])
})
