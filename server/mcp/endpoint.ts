import type { AuthInfo, McpHttpHandler, McpServer, Server } from '@modelcontextprotocol/server'
import { ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import type { Caller } from '../auth/principal.ts'
import type { Answer } from '../http/route.ts'
import { type AskedRequest, answerOf, type OpenStream, webRequest } from './bridge.ts'
import { assertBounded } from './message-bounds.ts'
import { Sessions } from './sessions.ts'

type Package = typeof import('@modelcontextprotocol/server')

/** A request of a caller who may connect. */
export interface McpRequest extends AskedRequest {
  /** Parsed; undefined for a method without one. */
  readonly body: unknown
  readonly caller: Caller
  /** The client's address. */
  readonly address: string
  readonly token: string
  /** Aborted when the client goes away. */
  readonly gone: AbortSignal
}

export interface EndpointParts {
  readonly sdk: Package
  /** One for each request of the protocol of 2026, and for each session of 2025. */
  readonly server: () => McpServer | Server
  /** Does the token still stand for this caller? */
  readonly holds: (token: string, caller: Caller) => boolean
  readonly now_ms: () => number
  readonly onDefect: (error: unknown) => void
}

interface Open {
  readonly caller: Caller
  readonly owner: string
  readonly token: string
  end(): void
}

/**
 * The MCP endpoint, in both eras of the protocol. A client of 2026 has no session: each request says all that it needs. One of 2025
 * begins with `initialize` and gets a session; what it sends without one is answered without one. Who calls was settled by the
 * front; handlers read it from `callerOf`.
 */
export class McpEndpoint {
  readonly #parts: EndpointParts
  readonly #handler: McpHttpHandler
  readonly #sessions: Sessions
  /** Requests that have not been answered, and streams of events. */
  readonly #open = new Set<Open>()
  readonly #timer: NodeJS.Timeout

  constructor(parts: EndpointParts) {
    const { sdk, server, now_ms } = parts
    this.#parts = parts
    this.#handler = sdk.createMcpHandler(server, {
      keepAliveMs: limits.MCP_KEEP_ALIVE_MS,
      maxSubscriptions: limits.MCP_STREAMS,
    })
    this.#sessions = new Sessions({ sdk, server, now_ms })
    this.#timer = setInterval(() => this.#look(), limits.MCP_LOOK_MS)
    this.#timer.unref()
  }

  async take(asked: McpRequest): Promise<Answer> {
    const { body, caller, token, gone } = asked
    assertBounded(body)
    const owner = ownerKey(caller)
    this.#assertRoom(owner)
    const ending = new AbortController()
    const open: Open = { caller, owner, token, end: () => ending.abort() }
    const end = (): void => open.end()
    gone.addEventListener('abort', end, { once: true })
    this.#open.add(open)
    const over = (): void => {
      this.#open.delete(open)
      gone.removeEventListener('abort', end)
    }
    let isStream = false
    try {
      const response = await this.#respond(asked, webRequest(asked, ending.signal), owner)
      return await answerOf(response, asked.method, stream => {
        isStream = true
        return this.#streams(open, stream, ending, response.headers.get('mcp-session-id'), over)
      })
    } finally {
      if (!isStream) over()
    }
  }

  /** Somebody's token may have ended: what was opened with it ends as well. */
  endStale(): void {
    for (const open of [...this.#open]) if (!this.#parts.holds(open.token, open.caller)) open.end()
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    for (const open of [...this.#open]) open.end()
    this.#sessions.endAll()
    await this.#handler.close()
  }

  async #respond({ body, caller, address }: McpRequest, request: Request, owner: string): Promise<Response> {
    const authInfo = authOf(caller, address)
    const isLegacy = await this.#parts.sdk.isLegacyRequest(request, body)
    if (isLegacy && (request.headers.has('mcp-session-id') || this.#parts.sdk.isInitializeRequest(body)))
      return this.#sessions.take(request, owner, authInfo, body)
    return this.#handler.fetch(request, { authInfo, parsedBody: body })
  }

  #streams(
    open: Open,
    stream: OpenStream,
    ending: AbortController,
    session: string | null,
    over: () => void,
  ): () => void {
    const released = session === null ? null : this.#sessions.holds(session)
    open.end = () => {
      ending.abort()
      stream.end()
    }
    return () => {
      over()
      released?.()
    }
  }

  #assertRoom(owner: string): void {
    let own = 0
    for (const open of this.#open) if (open.owner === owner) own++
    if (own < limits.MCP_CALLER_STREAMS && this.#open.size < limits.MCP_STREAMS) return
    throw new ServiceError('too_many_connections', 'Too many requests to MCP are open.', { retry_after_s: 5 })
  }

  #look(): void {
    this.endStale()
    this.#sessions.endIdle()
  }
}

/** Names are unique among users, ids among clients. */
const ownerKey = (caller: Caller): string => (caller.kind === 'client' ? `client:${caller.id}` : `user:${caller.actor}`)

/** What the package hands on to handlers: it looks at nothing of it. */
const authOf = (caller: Caller, address: string): AuthInfo => ({
  token: '',
  clientId: caller.kind === 'client' ? caller.id : caller.actor,
  scopes: [...caller.scopes],
  extra: { caller, address },
})
