/**
 * 100 tool calls in flight, each a read of a message: the whole way through front, sign-in of a client, protocol, check of scope and
 * arguments, and engine.
 *
 * Floor: the official package behind `node:http`, with one tool that answers the same text: no accounts, no scopes, no bounds.
 */
import { join } from 'node:path'
import { startOurs } from './engine.ts'
import { type Bench, type Comparison, compare, type Row, RUNS } from './kit.ts'
import { Partner } from './partner.ts'
import type { McpLoad } from './partners/loads/mcp-load.ts'

const IN_FLIGHT = 100
const SECONDS = 3
const ERAS = ['2026', '2025'] as const

const bench: Bench = {
  name: 'mcp',
  shows: `tool calls a second over MCP with ${IN_FLIGHT} in flight, in both eras of the protocol`,
  floor: 'a bare @modelcontextprotocol/server behind node:http that answers the same text',
  rival: 'none',
  async run(): Promise<Row[]> {
    const partners = join(import.meta.dirname, 'partners')
    const ours = await startOurs()
    await ours.partner.ask('save', {
      name: 'bench',
      document: { nodes: [], inputs: [{ message: 'x', dtype: 'float', default: 1.5 }] },
    })
    const token = await clientToken(ours.url, ours.token)
    const load = await Partner.start(join(partners, 'loads/mcp-load.ts'))
    const text = await answerOf(ours.url, token)
    const floor = await Partner.start(join(partners, 'floors/bare-mcp.ts'))
    const { port } = await floor.ask<{ port: number }>('serve', { text })
    // As it stands within JSON.
    const expected = JSON.stringify(text).slice(1, -1)
    const contestant = (server: Pick<McpLoad, 'port' | 'token'>) => async () => {
      const figures: Record<string, number> = {}
      for (const era of ERAS) {
        const asked: McpLoad = { ...server, era, in_flight: IN_FLIGHT, seconds: SECONDS, text: expected }
        figures[era] = (await load.ask<{ per_s: number }>('pass', asked)).per_s
      }
      return figures
    }
    const comparison: Comparison = {
      unit: 'calls/s',
      runs: RUNS,
      floor: contestant({ port, token: '' }),
      ours: contestant({ port: Number(new URL(ours.url).port), token }),
    }
    // The first calls load the endpoint and warm both.
    await comparison.floor!()
    await comparison.ours!()
    return compare(comparison)
  },
}
export default bench

async function clientToken(url: string, admin: string): Promise<string> {
  const answer = await fetch(`${url}/clients`, {
    method: 'POST',
    headers: { authorization: `Bearer ${admin}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'bench', scopes: ['read'] }),
  })
  return ((await answer.json()) as { token: string }).token
}

/** What the tool answers. */
async function answerOf(url: string, token: string): Promise<string> {
  const params = { name: 'read_message', arguments: { name: 'bench.x' } }
  const answer = await fetch(`${url}/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
  })
  const [, json] = /^data: (.+)$/m.exec(await answer.text()) ?? []
  return JSON.parse(json!).result.content[0].text
}
