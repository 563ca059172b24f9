import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { type NodePlace, shimOf } from '../../../clients/cli/sync/shim.ts'
import { sharedEngine } from '../../kit/live-engine.ts'
import { code, flow, Gate, input, output, Story } from '../../kit/live-story.ts'

const live = sharedEngine({ FLOW_LANES: '2' }, { blocked_lane_ms: 300 })

/** A module of the repository around the installation, and the shim of what it exports. */
function shimFor(file: string, source: string, name: string, shape: NodePlace['shape']): string {
  const root = live.data_dir
  mkdirSync(join(root, 'nodes'), { recursive: true })
  writeFileSync(join(root, file), source)
  return shimOf({ file, name, shape }, root, join(root, 'bodies'))
}

const int = (message: string) => ({ message, dtype: 'int' as const })

test('a shim carries the digest of what it is', () => {
  const shim = shimFor('nodes/x.ts', 'export const one = () => ({ y: 1 })', 'one', 'function')
  const [first, ...rest] = shim.split('\n')
  assert.equal(/sha256:([0-9a-f]{64})$/.exec(first!)![1], createHash('sha256').update(rest.join('\n')).digest('hex'))
})

test('code that answers in each shape runs through its shim, whatever its file and export are called', async () => {
  const story = new Story(live.engine)
  const bodies = [
    ['function', '({ x }) => ({ y: [x] })'],
    ['generator', 'function* ({ x }) { yield { y: [x] }; return { y: [x, x] } }'],
    ['async generator', 'async function* ({ x }) { yield { y: [x] }; return { y: [x, x] } }'],
  ] as const
  for (const [at, [shape, body]] of bodies.entries()) {
    const file = `nodes/it's 100 % ü#${at}?.mjs`
    const source = shimFor(file, `const body = ${body}\nexport { body as 'of a node' }`, 'of a node', shape)
    const name = `shape_${at}`
    await story.save(name, flow([code('n', source, [input('x', 'int')], [output('y')], { language: 'js' })], int('x')))
    story.publish(`${name}.x`, 7)
    await story.becomes(`${name}.y`, shape === 'function' ? [7] : [7, 7])
  }
})

test('code that blocks its lane is found through its shim, also between two yields', async () => {
  const story = new Story(live.engine)
  const gate = new Gate(live.data_dir, 'blocks')
  const bodies = {
    function: '({ x }) => { opened(); return { y: x } }',
    generator: 'function* ({ x }) { yield { y: 0 }; opened(); yield { y: x } }',
  }
  for (const [shape, body] of Object.entries(bodies)) {
    const text = `${gate.blockingSource}export const stands = ${body}`
    const source = shimFor(`nodes/${shape}.mjs`, text, 'stands', shape as NodePlace['shape'])
    await story.save(shape, flow([code('n', source, [input('x', 'int')], [output('y', 'int')])], int('x')))
    story.publish(`${shape}.x`, 5)
  }
  for (const shape of Object.keys(bodies)) await story.shows(shape, 'blocked_lane')
  gate.open()
  for (const shape of Object.keys(bodies)) await story.becomes(`${shape}.y`, 5)
})
