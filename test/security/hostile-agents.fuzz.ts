import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { limits } from '../../protocol/limits.ts'
import { TOOLS } from '../../server/mcp/server.ts'
import { ADA, type ServedFront, serveFront } from '../kit/served-front.ts'

/** Agents that say anything to /mcp: each is answered or refused, nothing is a defect of the engine, and the next request is served. */
const LONG = process.env['LONG'] === '1'
const seed = Number(process.env['SEED'] ?? Date.now() % 2 ** 31)

let served: ServedFront
let token: string
before(async () => {
  served = await serveFront()
  token = await served.mint(ADA.name)
})
after(() => served.close())

const METHODS = [
  ...['initialize', 'ping', 'tools/list', 'tools/call', 'resources/list', 'resources/read', 'resources/templates/list'],
  ...['prompts/list', 'prompts/get', 'server/discover', 'completion/complete', 'notifications/cancelled', 'nonsense'],
]
const name = fc.oneof(
  fc.constantFrom(...TOOLS.map(tool => tool.name), 'write_a_flow', 'why_did_this_run_fail'),
  fc.string(),
)
const anything = fc.jsonValue({ maxDepth: 4 })
const arguments_ = fc.oneof(
  anything,
  fc.dictionary(
    fc.constantFrom('name', 'flow', 'run', 'document', 'node', 'limit', 'offset', 'a', 'b', 'value'),
    anything,
  ),
)
const envelope = fc.record({
  'io.modelcontextprotocol/protocolVersion': fc.oneof(fc.constantFrom('2026-07-28', '2025-11-25'), anything),
  'io.modelcontextprotocol/clientInfo': fc.oneof(fc.constant({ name: 'x', version: '1' }), anything),
  'io.modelcontextprotocol/clientCapabilities': fc.oneof(fc.constant({}), anything),
})
const params = fc.oneof(
  anything,
  fc.record(
    {
      name,
      arguments: arguments_,
      uri: fc.oneof(fc.webUrl(), fc.constantFrom('svc://flows/x', 'svc://runs/x')),
      _meta: envelope,
    },
    { requiredKeys: [] },
  ),
)
const message = fc.record(
  {
    jsonrpc: fc.oneof({ weight: 9, arbitrary: fc.constant('2.0') }, { weight: 1, arbitrary: anything }),
    id: fc.oneof(fc.integer(), fc.string(), anything),
    method: fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...METHODS) }, { weight: 1, arbitrary: anything }),
    params,
  },
  { requiredKeys: [] },
)
const body = fc.oneof(
  { weight: 8, arbitrary: message },
  { weight: 1, arbitrary: fc.array(message, { maxLength: 5 }) },
  { weight: 1, arbitrary: anything },
)
const visible = fc.stringMatching(/^[!-~]{0,40}$/)
const headers = fc.record(
  {
    'mcp-protocol-version': fc.oneof(fc.constantFrom('2026-07-28', '2025-11-25', '2024-11-05'), visible),
    'mcp-session-id': visible,
    'mcp-method': fc.oneof(fc.constantFrom(...METHODS), visible),
    'mcp-name': visible,
    'last-event-id': visible,
  },
  { requiredKeys: [] },
)

const ask = (method: string, more: Record<string, string>, text?: string): Promise<Response> =>
  fetch(`${served.url}/mcp`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      ...more,
    },
    ...(text === undefined ? {} : { body: text }),
  })

test(`whatever an agent sends, it is answered or refused, seed ${seed}`, async () => {
  await fc.assert(
    fc.asyncProperty(fc.constantFrom('POST', 'POST', 'POST', 'DELETE'), headers, body, async (method, more, sent) => {
      const answer = await ask(method, more, method === 'POST' ? JSON.stringify(sent) : undefined)
      const text = await answer.text()
      assert.ok(answer.status < 500, `${answer.status} ${text.slice(0, 300)}`)
      assert.ok(text.length <= limits.MCP_RESULT_BYTES * 4)
    }),
    { seed, numRuns: LONG ? 20_000 : 400 },
  )
  assert.deepEqual(served.log.errors, [])
  const ping = await ask('POST', {}, JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }))
  assert.match(await ping.text(), /"result":\{\}/)
})
