import type { TestContext } from 'node:test'
import { Client, type ClientOptions, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'

/** The official client of a protocol era, signed in with a token; it is closed with the test. */
export async function mcpClient(
  t: TestContext,
  url: string,
  token: string,
  era: '2025' | '2026' = '2026',
): Promise<Client> {
  const options: ClientOptions = era === '2026' ? { versionNegotiation: { mode: 'auto' } } : {}
  const client = new Client({ name: 'test', version: '1' }, options)
  const transport = new StreamableHTTPClientTransport(new URL('/mcp', url), {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
  })
  await client.connect(transport)
  t.after(() => client.close())
  return client
}

/** What a tool answered: JSON when it is JSON, else its text. `refused`: it is an error, whose code is given. */
export async function called(client: Client, name: string, args: Record<string, unknown> = {}) {
  const result = await client.callTool({ name, arguments: args })
  const [content] = result.content as { type: string; text: string }[]
  const text = content?.text ?? ''
  // Tables and pages are text, and what was cut is no JSON any more.
  const value = /^[[{].*[\]}]$/s.test(text) ? JSON.parse(text) : text
  return { refused: result.isError === true ? (value.code as string) : null, value, text }
}
