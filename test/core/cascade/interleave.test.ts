import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { explore } from '../../kit/interleave.ts'

const scenario = (name: string): URL => new URL(`./${name}.scenario.ts`, import.meta.url)

describe('in every schedule of two threads with up to three preemptions', () => {
  test('a mark is taken or visible', async () => {
    assert.ok((await explore(scenario('ready'))).schedules > 1000)
  })

  test('a lane that goes to sleep while an item is appended is woken', async () => {
    assert.ok((await explore(scenario('wake'))).schedules > 1000)
  })

  test('a lane that keeps its flow is woken for it', async () => {
    assert.ok((await explore(scenario('parked'))).schedules > 1000)
  })

  test('an item that is appended while its owner is recovered is marked for any lane', async () => {
    assert.ok((await explore(scenario('told-while-recovered'), { preemptions: 2 })).schedules > 1000)
  })

  test('an item that is appended while its owner leaves is marked for any lane', async () => {
    assert.ok((await explore(scenario('told-while-leaving'))).schedules > 1000)
  })

  test('an item that is appended while the flow is let go is marked, for its owner or for any lane', async () => {
    const { outcomes } = await explore(scenario('release'))
    assert.deepEqual([...outcomes.keys()].sort(), ['"left to any lane"', '"left to its owner"', '"taken"'])
  })

  test('two lanes that find the same flow take each item once and leave a mark for the rest', async () => {
    const { outcomes } = await explore(scenario('forward'))
    assert.deepEqual([...outcomes.keys()].sort(), ['1', '2'])
  })

  test('a publisher and a lane hand segments over, and the items keep their order', async () => {
    assert.ok((await explore(scenario('handover'), { preemptions: 2 })).schedules > 1000)
  })

  test('a segment is given to one of two threads, and a free one is never hidden', async () => {
    assert.ok((await explore(scenario('segments'))).schedules > 1000)
  })

  test('two publishers that need the same two flows never wait for each other', async () => {
    assert.ok((await explore(scenario('two-publishers'), { preemptions: 2 })).schedules > 1000)
  })
})
