import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Cascade } from '../../../protocol/nouns/cascade.ts'
import { cascadeId } from '../../../protocol/nouns/cascade-id.ts'
import { formatTime } from '../../../protocol/time.ts'
import type { LiveFlows } from '../../../server/flows/flows.ts'
import type { MessageMap } from '../../../server/flows/message-map.ts'
import { LiveCascades } from '../../../server/flows/reruns.ts'
import { FrontMemory } from '../../../server/lanes/front-memory.ts'
import type { Store } from '../../../server/store/front/client.ts'
import type { HistoryRequest } from '../../../server/store/front/requests.ts'
import { takeAll } from '../../core/cascade/kit/recovered.ts'
import { Station } from '../../core/cascade/kit/station.ts'
import { smallMemory } from '../../kit/memory.ts'

/** A failed cascade of version 5, and a history that was published at these times. */
function rerunOver(started: number, published: readonly number[]) {
  const memory = smallMemory()
  const front = new FrontMemory(memory)
  const cascade = { flow: 'f', root: 'f.x', root_version: 5, status: 'failed', started_at: formatTime(started) }
  const store = {
    cascade: async () => cascade as Cascade,
    history: async ({ until, until_version, limit }: HistoryRequest) => {
      const points = published
        .map((ts, at) => ({ at: ts, ts: formatTime(ts), version: at + 1, value: at + 1 }))
        .filter(({ at, version }) => at < until! || (at === until! && version < (until_version ?? 0)))
      return { items: points.slice(-Math.min(limit, 3)), truncated: points.length > 3 }
    },
  }
  const message = { name: 'f.x', index: 1, dtype: 'float', readers: [0] }
  const flow = { index: 2, enabled: true, plan: { messages: [message] } }
  const cascades = new LiveCascades({
    front,
    map: { get: () => message } as unknown as MessageMap,
    flows: { find: () => flow } as unknown as LiveFlows,
    store: store as unknown as Store,
    announce: () => {},
  })
  const waiting = (): string[] => takeAll(new Station(memory, 8), 2)
  return { waiting, rerun: () => cascades.rerun(cascadeId(3, started, 77)) }
}

test('the value of a cascade is found by its version, though its publisher had a clock that was well ahead', async () => {
  const started = Date.now() * 1000 - 60e6
  for (const ahead of [-5e6, 0, 50_000, 165_000, 20e6]) {
    const published = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map(nth => started + ahead + (nth - 5) * 10)
    const { rerun, waiting } = rerunOver(started, published)
    await rerun()
    assert.deepEqual(waiting(), ['1@5=5'], `ahead by ${ahead} us`)
  }
})

test('a value that the history has lost is said to be gone', async () => {
  const started = Date.now() * 1000 - 60e6
  const { rerun, waiting } = rerunOver(
    started,
    [1, 2, 3, 4].map(nth => started + nth),
  )
  await assert.rejects(rerun(), { code: 'root_value_gone' })
  assert.deepEqual(waiting(), [])
})
