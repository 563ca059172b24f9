/**
 * The official package behind `node:http` and nothing else, the floor of `mcp`: one tool that answers the text that it was given.
 *   serve({text}) -> {port}
 * Both eras: `createMcpHandler`, and sessions of 2025 in a map.
 */
import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  createMcpHandler,
  fromJsonSchema,
  isLegacyRequest,
  McpServer,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import { answer } from '../../partner.ts'

const schema = fromJsonSchema({ type: 'object', properties: { name: { type: 'string' } }, required: ['name'] } as never)
const told = { text: '' }

function bareServer(): McpServer {
  const server = new McpServer({ name: 'bare', version: '1' })
  server.registerTool('read_message', { description: 'the same answer', inputSchema: schema }, async () => ({
    content: [{ type: 'text', text: told.text }],
  }))
  return server
}

const modern = createMcpHandler(bareServer, { legacy: 'reject' })
const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>()

async function respond(request: Request, parsedBody: unknown): Promise<Response> {
  if (!(await isLegacyRequest(request, parsedBody))) return modern.fetch(request, { parsedBody })
  const id = request.headers.get('mcp-session-id')
  if (id !== null) return sessions.get(id)!.handleRequest(request, { parsedBody })
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: begun => {
      sessions.set(begun, transport)
    },
  })
  await bareServer().connect(transport)
  return transport.handleRequest(request, { parsedBody })
}

async function serve(asked: IncomingMessage, out: ServerResponse): Promise<void> {
  const chunks: Buffer[] = []
  for await (const chunk of asked) chunks.push(chunk as Buffer)
  const headers = asked.headers as Record<string, string>
  const request = new Request(`http://${headers['host']}${asked.url}`, { method: asked.method!, headers })
  const response = await respond(request, JSON.parse(Buffer.concat(chunks).toString()))
  out.writeHead(response.status, Object.fromEntries(response.headers))
  if (response.body !== null) for await (const chunk of response.body) out.write(chunk)
  out.end()
}

answer({
  async serve({ text }: { text: string }) {
    told.text = text
    const server = createServer((asked, out) => void serve(asked, out).catch(error => out.destroy(error)))
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    return { port: (server.address() as AddressInfo).port }
  },
})
