import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Heard {
  readonly method: string
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

/** A server on loopback that stands for something outside of the engine. It is closed with the test. */
export async function outside(
  t: { after(end: () => void | Promise<void>): void },
  answer: (heard: Heard, response: ServerResponse) => void,
): Promise<{ url: string; heard: Heard[]; sockets: () => number; close(): Promise<void> }> {
  const heard: Heard[] = []
  let sockets = 0
  const listener: RequestListener = async (request, response) => {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part as Buffer)
    const { method = '', url = '', headers } = request
    const one = { method, path: url, headers, body: Buffer.concat(parts).toString() }
    heard.push(one)
    answer(one, response)
  }
  const server = createServer(listener)
  server.on('connection', () => sockets++)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const close = async (): Promise<void> => {
    server.closeAllConnections()
    if (server.listening) await new Promise(resolve => server.close(resolve))
  }
  t.after(close)
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, heard, sockets: () => sockets, close }
}

export const json = (
  response: ServerResponse,
  body: unknown,
  status = 200,
  headers: Record<string, string> = {},
): void => void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
