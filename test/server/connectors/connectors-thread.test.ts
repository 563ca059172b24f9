import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { MASK_TABLE_BYTES } from '../../../core/masks/table.ts'
import { createVolatile } from '../../../core/memory/volatile/region.ts'
import { ConnectorsThread } from '../../../server/connectors/connectors-thread.ts'
import { FrontMemory } from '../../../server/lanes/front-memory.ts'
import type { ConnectorPlan } from '../../../threads/connectors/messages.ts'
import { eventually } from '../../kit/live-engine.ts'

const FLOW = 0
const MESSAGE = 3
const log = { error: (...said: unknown[]) => console.error(...said), warn() {}, info() {} } as never

/** A thread of its own on fresh memory, and a server outside that counts. */
async function started(t: { after(end: () => Promise<void>): void }) {
  const data_dir = mkdtempSync(join(tmpdir(), 'connectors-'))
  let asked = 0
  const server = createServer((_request, response) => response.end(JSON.stringify(++asked)))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const front = new FrontMemory()
  const replaced: unknown[] = []
  let lost = 0
  const ended: unknown[] = []
  const thread = new ConnectorsThread({
    front,
    log,
    masks: new SharedArrayBuffer(MASK_TABLE_BYTES),
    artifacts: { folder: data_dir, max_bytes: 1e6, volatile: createVolatile(1 << 20).sab },
    folder: data_dir,
    reach: { allow: [], deny: [] },
    timezone: 'UTC',
    announce: (type, _flow, more) => void replaced.push({ type, ...more }),
    ended: message => void ended.push(message),
    lost: () => void lost++,
    onFatal: error => {
      throw error
    },
  })
  t.after(async () => {
    await thread.stop()
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
    rmSync(data_dir, { recursive: true, force: true })
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const plan = (type: string, settings: Record<string, unknown>): ConnectorPlan => ({
    node: 1,
    qualified: 'tank.node',
    type,
    change_key: JSON.stringify(settings),
    settings,
    inputs: [],
    outputs: [
      {
        name: 'body',
        dtype: 'int',
        rate_hz: null,
        route: { message: MESSAGE, flow: FLOW, queued: false, foreign: [], downstream: [FLOW] },
      },
    ],
  })
  return { thread, front, replaced, ended, plan, url, lost: () => lost }
}

test('a connectors thread that dies is replaced, and the new one begins with every connector that there is', async t => {
  const { thread, front, replaced, plan, url } = await started(t)
  const version = (): number => front.messages.version(MESSAGE)
  thread.set({ type: 'flow', flow: FLOW, name: 'tank', nodes: [plan('http-poll', { url, every_s: 0.1 })] })
  assert.equal(thread.isRunning, false)
  thread.begin()
  await eventually(() => version() >= 2, 'it publishes')
  assert.equal(await thread.ping(), undefined)
  for (let death = 1; death <= 2; death++) {
    thread.silent()
    await eventually(() => replaced.length === death, 'its death is told')
    const before = version()
    await eventually(() => version() >= before + 2, 'another one publishes')
  }
  assert.deepEqual(replaced, [
    { type: 'thread_replaced', thread: 'connectors' },
    { type: 'thread_replaced', thread: 'connectors' },
  ])
})

test('calls of a thread that dies are lost, and a later call starts another one', async t => {
  const { thread, plan, url, lost, ended } = await started(t)
  thread.begin()
  assert.equal(thread.isRunning, false)
  const call = (id: number): void =>
    thread.post({ type: 'call', call: id, plan: plan('http', { method: 'GET', url }), inputs: {} })
  call(1)
  await eventually(() => ended.length === 1, 'the first answer')
  thread.silent()
  await eventually(() => lost() === 1, 'it is gone')
  call(2)
  await eventually(() => ended.length === 2, 'the second answer')
  assert.deepEqual(
    ended.map(message => (message as { type: string; outputs: unknown }).outputs),
    [{ body: 1 }, { body: 2 }],
  )
})
