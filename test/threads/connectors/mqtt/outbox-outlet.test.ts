import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newOutbox, OutboxWriter } from '../../../../core/memory/outbox.ts'
import { limits } from '../../../../protocol/limits.ts'
import type { ConnectorHost } from '../../../../threads/connectors/connector.ts'
import { OutboxOutlet } from '../../../../threads/connectors/mqtt/outbox-outlet.ts'
import type { Publications } from '../../../../threads/connectors/mqtt/publications.ts'

test('nothing falls out of a full outbox while the broker has not answered yet, the oldest do when it is away', async t => {
  t.mock.timers.enable({ apis: ['setInterval', 'setTimeout'] })
  let dropped = 0
  const host = { dropped: (_reason: string, count: number) => void (dropped += count), gauge() {} }
  const sab = newOutbox(1024)
  const writer = new OutboxWriter(sab)
  let pushed = 0
  while (writer.push('out', String(pushed), 0) === 'pushed') pushed++
  assert.ok(writer.waitForRoom('out', '') !== null)

  const publications = { isUp: false, pump() {} } as unknown as Publications
  const outlet = new OutboxOutlet(sab, host as unknown as ConnectorHost, publications)
  t.mock.timers.tick(limits.MQTT_CONNECT_MS)
  assert.equal(dropped, 0)

  outlet.down()
  t.mock.timers.tick(limits.OUTBOX_TRIM_MS)
  assert.ok(dropped > 0 && dropped < pushed)
  const kept = dropped
  outlet.up()
  t.mock.timers.tick(limits.MQTT_CONNECT_MS)
  assert.equal(String(outlet.next()?.payload), String(kept), 'the oldest that is left')
  await outlet.close()
})
