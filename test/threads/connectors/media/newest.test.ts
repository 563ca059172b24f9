import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ConnectorHost, Published } from '../../../../threads/connectors/connector.ts'
import { Newest } from '../../../../threads/connectors/media/newest.ts'

test('while a flow is full only the newest frame waits, and the others are counted', async () => {
  const published: unknown[] = []
  let answer: Published = 'published'
  let room = Promise.withResolvers<void>()
  let dropped = 0
  const host = {
    publish: (outputs: { frame: number }): Published => {
      if (answer === 'published') published.push(outputs.frame)
      return answer
    },
    whenRoom: () => room.promise,
    dropped: (_: string, count: number) => (dropped += count),
    log: () => {},
  } as unknown as ConnectorHost
  const newest = new Newest(host)
  const look = async (): Promise<void> => {
    room.resolve()
    room = Promise.withResolvers()
    await new Promise(resolve => setImmediate(resolve))
  }
  newest.publish({ frame: 1 })
  answer = 'full'
  for (const frame of [2, 3, 4, 5]) newest.publish({ frame })
  await look()
  assert.deepEqual([published, dropped], [[1], 3])
  newest.publish({ frame: 6 })
  answer = 'published'
  await look()
  newest.publish({ frame: 7 })
  assert.deepEqual([published, dropped], [[1, 6, 7], 4])
  answer = 'full'
  newest.publish({ frame: 8 })
  newest.close()
  assert.equal(dropped, 5)
})
