import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { FlowDocument } from '../../../protocol/nouns/flow-document.ts'
import { eventually, sharedEngine } from '../../kit/live-engine.ts'
import { code, flow, input, output } from '../../kit/live-story.ts'

// The watch looks every millisecond: what holds this thread outside of requests is found as well.
const live = sharedEngine({ FLOW_LANES: '2', FLOW_MAX_WORKERS: '2' }, { front_look_ms: 1 })

const LISTS = 8
/** Numbers whose text is just below 1 MiB. */
const NUMBERS = 52_000
const LIST = `const list = at => Array.from({ length: ${NUMBERS} }, (_, i) => Math.sin(i + at))\n`
const json = (message: string) => ({ message, dtype: 'json' as const })

const SHAPES: Record<string, FlowDocument> = {
  'one node each': flow(
    Array.from({ length: LISTS }, (_, at) =>
      code(
        `n${at}`,
        `${LIST}export default ({ x }) => ({ y: list(x + ${at}) })`,
        [input('x')],
        [output('y', 'json', { message: `y${at}` })],
      ),
    ),
    json('x'),
  ),
  'one node for all': flow(
    [
      code(
        'all',
        `${LIST}export default ({ x }) => Object.fromEntries(Array.from({ length: ${LISTS} }, (_, at) => ['y' + at, list(x + at)]))`,
        [input('x')],
        Array.from({ length: LISTS }, (_, at) => output(`y${at}`, 'json')),
      ),
    ],
    json('x'),
  ),
  'a generator': flow(
    [
      code(
        'many',
        `${LIST}export default function* ({ x }) { for (let at = 0; at < ${LISTS}; at++) yield { y: list(x + at) } }`,
        [input('x')],
        [output('y', 'json')],
      ),
      code('length', 'export default ({ y }) => ({ n: y.length })', [input('y', 'json')], [output('n', 'int')]),
    ],
    json('x'),
  ),
}

/** Of one run: how often the front was held meanwhile, and until all of it was written. */
async function heldBy(name: string, x: number): Promise<number> {
  const { engine } = live
  const before = (await engine.observe.summary()).front.held
  const { id } = (await engine.runs.create(name, { inputs: { x } }, 'tests')).run
  // The run itself would be read whole here, on the thread of the front.
  const finished = { limit: 1, offset: 0, flow: null, run: id, type: 'run_finished', since_us: null, until_us: null }
  await eventually(async () => {
    const [event] = (await engine.observe.events(finished)).items
    if (event !== undefined) assert.equal(event['status'], 'succeeded')
    return event !== undefined
  }, `${name} has ended`)
  return (await engine.observe.summary()).front.held - before
}

/** The garbage of others counts as well, now and then: what holds the front by itself does so in each of several runs. */
async function leastHeld(runs: () => Promise<number>): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let times = 0; times < 12 && least > 0; times++) least = Math.min(least, await runs())
  return least
}

describe(`a batch run with ${LISTS} lists of 1 MiB never holds the front`, () => {
  for (const [shape, document] of Object.entries(SHAPES)) {
    test(`made by ${shape}, and found in the cache`, async () => {
      const name = shape.replaceAll(/[ ,]+/g, '_')
      await live.engine.flows.save(name, { document }, 'tests')
      // What is compiled with the first run is not looked at.
      await heldBy(name, 0)
      let x = 0
      assert.equal(await leastHeld(() => heldBy(name, ++x)), 0)
      assert.equal(await leastHeld(() => heldBy(name, x)), 0)
    })
  }
})
