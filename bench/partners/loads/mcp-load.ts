/**
 * The load of `mcp`: so many calls of one tool in flight, each on a connection of its own that asks again when it has its answer.
 *   pass(McpLoad) -> {per_s}
 */
import { Agent, request } from 'node:http'
import { answer } from '../../partner.ts'

export interface McpLoad {
  port: number
  token: string
  era: '2025' | '2026'
  in_flight: number
  seconds: number
  /** What every answer has to hold. */
  text: string
}

const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'load', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}
const CALL = { name: 'read_message', arguments: { name: 'bench.x' } }

interface Answered {
  readonly session: string | undefined
  readonly text: string
}

answer({
  async pass(load: McpLoad): Promise<{ per_s: number }> {
    const agent = new Agent({ keepAlive: true, maxSockets: load.in_flight })
    const session = load.era === '2025' ? await begin(load, agent) : undefined
    const until_ms = performance.now() + load.seconds * 1000
    const began_ms = performance.now()
    const counts = await Promise.all(
      Array.from({ length: load.in_flight }, async (_, id) => {
        let done = 0
        while (performance.now() < until_ms) {
          const { text } = await call(load, agent, id, session)
          if (!text.includes(load.text)) throw new RangeError(`another answer: ${text.slice(0, 300)}`)
          done++
        }
        return done
      }),
    )
    agent.destroy()
    return { per_s: counts.reduce((sum, count) => sum + count, 0) / ((performance.now() - began_ms) / 1000) }
  },
})

async function begin(load: McpLoad, agent: Agent): Promise<string> {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'load', version: '1' } }
  const { session, text } = await post(load, agent, { jsonrpc: '2.0', id: 0, method: 'initialize', params }, {})
  if (session === undefined) throw new RangeError(`no session: ${text}`)
  return session
}

let ids = 0

function call(load: McpLoad, agent: Agent, _client: number, session: string | undefined): Promise<Answered> {
  const id = ++ids
  if (session !== undefined)
    return post(load, agent, { jsonrpc: '2.0', id, method: 'tools/call', params: CALL }, { 'mcp-session-id': session })
  const headers = {
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': CALL.name,
  }
  return post(load, agent, { jsonrpc: '2.0', id, method: 'tools/call', params: { ...CALL, _meta: ENVELOPE } }, headers)
}

function post({ port, token }: McpLoad, agent: Agent, body: object, more: Record<string, string>): Promise<Answered> {
  const text = JSON.stringify(body)
  const headers = {
    authorization: `Bearer ${token}`,
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(text)),
    ...more,
  }
  return new Promise((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port, path: '/mcp', method: 'POST', agent, headers }, response => {
      let read = ''
      response.setEncoding('utf8')
      response.on('data', chunk => (read += chunk))
      response.on('end', () => {
        const session = response.headers['mcp-session-id']
        resolve({ session: typeof session === 'string' ? session : undefined, text: read })
      })
      response.on('error', reject)
    })
    asked.on('error', reject)
    asked.end(text)
  })
}
