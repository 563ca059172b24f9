import { randomUUID } from 'node:crypto'
import type {
  AuthInfo,
  McpServer,
  Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import { ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import { EventLog } from './event-log.ts'

type Package = typeof import('@modelcontextprotocol/server')

export interface SessionsParts {
  readonly sdk: Package
  readonly server: () => McpServer | Server
  /** Milliseconds of a clock that never jumps. */
  readonly now_ms: () => number
}

interface Session {
  /** Who made it: nobody else gets at it. */
  readonly owner: string
  readonly transport: WebStandardStreamableHTTPServerTransport
  used_ms: number
  /** Requests and streams of it that have not ended. */
  open: number
}

/**
 * Sessions of clients that speak the protocol of 2025, by id. One belongs to the caller that made it; to others it is not there. The
 * oldest of a caller gives way to a new one of the same caller; one that nobody uses ends after `limits.MCP_SESSION_IDLE_MS`.
 */
export class Sessions {
  readonly #parts: SessionsParts
  readonly #held = new Map<string, Session>()

  constructor(parts: SessionsParts) {
    this.#parts = parts
  }

  get size(): number {
    return this.#held.size
  }

  /** A request with the id of a session, or one that begins a session. */
  async take(request: Request, owner: string, authInfo: AuthInfo, parsedBody: unknown): Promise<Response> {
    const id = request.headers.get('mcp-session-id')
    if (id === null) return (await this.#begin(owner)).handleRequest(request, { authInfo, parsedBody })
    const session = this.#held.get(id)
    if (session === undefined || session.owner !== owner) return notFound()
    session.used_ms = this.#parts.now_ms()
    return session.transport.handleRequest(request, { authInfo, parsedBody })
  }

  /** A stream of it is open; answers what to call when it has ended. */
  holds(id: string): () => void {
    const session = this.#held.get(id)
    if (session === undefined) return () => {}
    session.open++
    return () => {
      session.open--
      session.used_ms = this.#parts.now_ms()
    }
  }

  endIdle(): void {
    const before_ms = this.#parts.now_ms() - limits.MCP_SESSION_IDLE_MS
    for (const [id, { open, used_ms }] of this.#held) if (open === 0 && used_ms < before_ms) this.#end(id)
  }

  endAll(): void {
    for (const id of [...this.#held.keys()]) this.#end(id)
  }

  async #begin(owner: string): Promise<WebStandardStreamableHTTPServerTransport> {
    const { sdk, server, now_ms } = this.#parts
    const transport = new sdk.WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      eventStore: new EventLog(),
      retryInterval: RETRY_MS,
      keepAliveMs: limits.MCP_KEEP_ALIVE_MS,
      onsessioninitialized: id => {
        this.#makeRoom(owner)
        this.#held.set(id, { owner, transport, used_ms: now_ms(), open: 0 })
      },
      onsessionclosed: id => {
        this.#held.delete(id)
      },
    })
    await server().connect(transport)
    return transport
  }

  /** Throws `too_many_connections` when others hold all of them. */
  #makeRoom(owner: string): void {
    const own = [...this.#held].filter(([, session]) => session.owner === owner)
    if (own.length >= limits.MCP_CALLER_SESSIONS) {
      const [oldest] = own.reduce((a, b) => (b[1].used_ms < a[1].used_ms ? b : a))
      this.#end(oldest)
    }
    if (this.#held.size >= limits.MCP_SESSIONS) throw tooMany()
  }

  #end(id: string): void {
    const session = this.#held.get(id)
    this.#held.delete(id)
    session?.transport.close().catch(() => {})
  }
}

/** Told to a client whose stream broke off. */
const RETRY_MS = 500

const tooMany = (): ServiceError =>
  new ServiceError('too_many_connections', 'All places for MCP sessions are taken.', { retry_after_s: 60 })

/** As the package says it, which clients understand: they begin a new session. */
const notFound = (): Response =>
  Response.json({ jsonrpc: '2.0', error: { code: -32001, message: 'Session not found' }, id: null }, { status: 404 })
