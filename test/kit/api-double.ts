import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { type WebSocket, WebSocketServer } from 'ws'
import { type ErrorCode, ServiceError } from '../../protocol/errors.ts'

export interface SeenRequest {
  readonly method: string
  readonly path: string
  readonly query: Record<string, string>
  /** Each `tag` of the query. */
  readonly tags: readonly string[]
  readonly authorization: string | undefined
  readonly body: unknown
}

/** What a request gets: a value (200), a refusal by its code, or whatever a function of the request makes of it. */
export type Scripted =
  | { readonly answer: unknown }
  | { readonly refuse: ErrorCode }
  | { readonly act: (request: SeenRequest, response: ServerResponse, times: number) => unknown }

/** The API of an engine as a script: `{'GET /flows': {answer: …}}`. What it does not name is 404 `not_found`. */
export class ApiDouble {
  readonly requests: SeenRequest[] = []
  /** Text frames that sockets sent, in order. */
  readonly frames: Record<string, unknown>[] = []
  readonly sockets = new Set<WebSocket>()
  /** No websocket is let in. */
  refuseSockets = false
  url = ''
  #onFrame: (frame: Record<string, unknown>, socket: WebSocket) => void = () => {}
  readonly #script: Record<string, Scripted>
  readonly #token: string | null
  readonly #times = new Map<string, number>()

  private constructor(script: Record<string, Scripted>, token: string | null) {
    this.#script = script
    this.#token = token
  }

  /** With a `token`, everything but signing in asks for it. */
  static async start(
    t: TestContext,
    script: Record<string, Scripted>,
    token: string | null = null,
  ): Promise<ApiDouble> {
    const double = new ApiDouble(script, token)
    const server = createServer((request, response) => void double.#serve(request, response))
    const sockets = new WebSocketServer({ noServer: true })
    server.on('upgrade', (request, stream, head) => {
      if (double.refuseSockets) {
        stream.end('HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n')
        return
      }
      if (token !== null && request.headers.authorization !== `Bearer ${token}`) {
        stream.end('HTTP/1.1 401 Unauthorized\r\nConnection: close\r\nContent-Length: 0\r\n\r\n')
        return
      }
      sockets.handleUpgrade(request, stream, head, socket => {
        double.sockets.add(socket)
        socket.on('close', () => double.sockets.delete(socket))
        socket.on('message', data => {
          const frame = JSON.parse(String(data)) as Record<string, unknown>
          double.frames.push(frame)
          double.#onFrame(frame, socket)
        })
      })
    })
    server.listen(0, '127.0.0.1')
    await new Promise(resolve => server.once('listening', resolve))
    double.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    t.after(async () => {
      for (const socket of double.sockets) socket.terminate()
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    })
    return double
  }

  onFrame(handle: (frame: Record<string, unknown>, socket: WebSocket) => void): void {
    this.#onFrame = handle
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url!, 'http://engine')
    const content = await text(request)
    const isJson = request.headers['content-type'] === 'application/json'
    const seen: SeenRequest = {
      method: request.method!,
      path: decodeURIComponent(url.pathname),
      query: Object.fromEntries(url.searchParams),
      tags: url.searchParams.getAll('tag'),
      authorization: request.headers.authorization,
      body: isJson ? JSON.parse(content) : content,
    }
    this.requests.push(seen)
    const name = `${seen.method} ${seen.path}`
    const times = (this.#times.get(name) ?? 0) + 1
    this.#times.set(name, times)
    const mayPass = this.#token === null || url.pathname === '/login/access-token'
    if (!mayPass && seen.authorization !== `Bearer ${this.#token}`) return refuse(response, 'unauthenticated')
    const scripted = this.#script[name] ?? { refuse: 'not_found' as const }
    if ('refuse' in scripted) return refuse(response, scripted.refuse)
    const answer = 'act' in scripted ? scripted.act(seen, response, times) : scripted.answer
    // What it began to answer by itself is its own to end.
    if (response.headersSent || response.destroyed) return
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(answer))
  }
}

export function refuse(response: ServerResponse, code: ErrorCode, detail?: string): void {
  const error = new ServiceError(code, detail)
  response.statusCode = error.status
  response.setHeader('content-type', 'application/problem+json')
  response.end(JSON.stringify({ ...error.toJSON(), errors: [{ loc: 'body.document', msg: 'is odd' }] }))
}
