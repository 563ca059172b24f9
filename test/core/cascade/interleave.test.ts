import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { explore } from '../../kit/interleave.ts'

const scenario = (name: string): URL => new URL(`./${name}.scenario.ts`, import.meta.url)

/** The short form of the tests has one preemption less for these. */
const long = process.env['LONG'] === undefined ? { preemptions: 2 } : { preemptions: 3, most: 1_000_000 }

/** Three preemptions in the long form and in `npm run rounds` (DEEP), ten times the schedules; two in the short form. */
const isDeep = process.env['LONG'] !== undefined || process.env['DEEP'] !== undefined
const small = { preemptions: isDeep ? 3 : 2 }
const MANY = isDeep ? 5000 : 500

describe(`in every schedule of two threads with up to ${small.preemptions} preemptions`, () => {
  test('a mark is taken or visible', async () => {
    assert.ok((await explore(scenario('ready'), small)).schedules > MANY)
  })

  test('a lane that goes to sleep while an item is appended is woken', async () => {
    assert.ok((await explore(scenario('wake'), small)).schedules > MANY)
  })

  test('a lane that keeps its flow is woken for it', async () => {
    assert.ok((await explore(scenario('parked'), small)).schedules > MANY)
  })

  test('an item that is appended while its owner leaves is marked for any lane', async () => {
    assert.ok((await explore(scenario('told-while-leaving'), small)).schedules > MANY)
  })

  test('an item that is appended while the flow is let go is marked, for its owner or for any lane', async () => {
    const { outcomes } = await explore(scenario('release'), small)
    assert.deepEqual([...outcomes.keys()].sort(), ['"left to any lane"', '"left to its owner"', '"taken"'])
  })

  test('two lanes that find the same flow take each item once and leave a mark for the rest', async () => {
    const { outcomes } = await explore(scenario('forward'), small)
    assert.deepEqual([...outcomes.keys()].sort(), ['1', '2'])
  })

  test('a queue that goes on in another segment while it is taken from loses no item, and keeps their order', async () => {
    const { outcomes } = await explore(scenario('queue'), small)
    assert.deepEqual([...outcomes.keys()].sort(), ['0', '1', '2'])
  })

  test('a segment is given to one of two threads, and a free one is never hidden', async () => {
    assert.ok((await explore(scenario('segments'), small)).schedules > MANY)
  })

  test('two publishers that need the same two words never wait for each other, and both flows get them in one order', async () => {
    assert.equal((await explore(scenario('two-words'), small)).outcomes.size, 2)
  })
})

describe('in every schedule of an emission of which another flow reads two messages', () => {
  test('the owner of that flow gets both in one cascade', async () => {
    const { outcomes } = await explore(scenario('group'), long)
    assert.deepEqual([...outcomes.keys()].sort(), ['0', '1'])
  })
})

describe('in every schedule of a whole recovery, hand-over or publish', () => {
  test('an item that is appended while its owner is recovered is marked for any lane', async () => {
    assert.ok((await explore(scenario('told-while-recovered'), long)).schedules > 1000)
  })

  test('a flow that is claimed while its dead owner is recovered loses no item and no mark', async () => {
    const { outcomes } = await explore(scenario('claimed-while-recovered'), long)
    assert.deepEqual([...outcomes.keys()].sort(), ['0', '1'])
  })

  test('a publisher and a lane hand segments over and back, and the items keep their order', async () => {
    assert.ok((await explore(scenario('handover'), long)).schedules > 1000)
  })

  test('two publishers into two flows that read each other never wait for each other', async () => {
    assert.ok((await explore(scenario('two-publishers'), long)).schedules > 1000)
  })
})
