import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { connect } from '../../clients/client/index.ts'
import type { Scope } from '../../protocol/words/scopes.ts'
import { type LiveEngine, sharedEngine } from '../kit/live-engine.ts'
import { called, mcpClient } from '../kit/mcp-client.ts'
import { boiler } from '../kit/served-front.ts'

const live = sharedEngine()

async function tokenOf({ url, data_dir }: LiveEngine, ...scopes: Scope[]): Promise<string> {
  const admin = connect({ url, token: readFileSync(join(data_dir, 'token'), 'utf8').trim() })
  const { token } = await admin.clients.create({ name: 'agent', scopes })
  admin.close()
  return token
}

for (const era of ['2025', '2026'] as const) {
  test(`a client of ${era} saves a flow, runs it and reads its result`, async t => {
    const client = await mcpClient(t, live.url, await tokenOf(live, 'read', 'run', 'edit', 'code'), era)
    const version = client.getNegotiatedProtocolVersion()
    assert.equal(version, era === '2025' ? '2025-11-25' : '2026-07-28')
    const { tools } = await client.listTools()
    assert.ok(tools.some(({ name }) => name === 'save_flow'))
    const name = `boiler${era}`
    const valid = await called(client, 'validate_flow', { name, document: boiler })
    assert.deepEqual(valid.value, { valid: true, version: 0, restarted: ['smoother'], removed: [], kept: [] })
    const saved = await called(client, 'save_flow', { name, document: boiler, base_version: 0 })
    assert.deepEqual([saved.refused, saved.value.version], [null, 1])
    const started = await called(client, 'start_run', { flow: name, inputs: { raw: 21.5 } })
    const { id } = started.value.run
    const followed = await called(client, 'follow_run', { run: id, wait_s: 30 })
    assert.deepEqual([followed.value.has_ended, followed.value.status], [true, 'succeeded'])
    const read = await called(client, 'read_run', { run: id })
    assert.deepEqual(Object.values(read.value.result), [21.5])
  })
}
