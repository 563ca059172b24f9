import type { HttpRequest, HttpResponse, TemplatedApp, us_listen_socket, us_socket_context_t } from 'uWebSockets.js'
import { ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import { addressOfBytes, type TrustedProxies } from '../auth/client-address.ts'
import type { Admission, Admissions } from '../auth/gatekeeper.ts'
import { type Caller, mayOpen, type WorkerPrincipal } from '../auth/principal.ts'
import type { Log } from '../observe/serve-log.ts'
import { FrontWatch } from '../watch/front-watch.ts'
import { type Channel, Exchange, type ExchangeServices } from './exchange.ts'
import { freePort } from './free-port.ts'
import { Gate } from './gate.ts'
import type { AllowedHosts } from './hosts.ts'
import { LiveSocket } from './live-socket.ts'
import { refusalOf } from './problem.ts'
import { type Responder, writeAnswer, writeRefusal } from './respond.ts'
import type { Route } from './route.ts'
import { RouteTree } from './route-tree.ts'
import { ServedRoute } from './served-route.ts'
import { type Credential, credentialOf, type SessionCookie } from './session-cookie.ts'
import type { Publisher, SocketHandlers } from './socket.ts'
import { readUpgrade, type UpgradeRequest } from './upgrade.ts'

/**
 * The only file that knows uWebSockets.js. A mistake in its callbacks is worse than an exception: a
 * handler that throws, or that returns without an answer and without a handler for aborts, ends the process. So every callback
 * that it is given ends here in a `try`, and an `Exchange` or a `LiveSocket` stands between it and everything else.
 */
export interface FrontOptions {
  readonly routes: readonly Route[]
  readonly sockets: readonly SocketHandlers[]
  readonly admissions: Admissions<Caller>
  readonly proxies: TrustedProxies
  readonly hosts: AllowedHosts
  /** Without it cookies are ignored. */
  readonly session?: SessionCookie
  readonly log: Log
  /** Measures the time that requests take on this thread. */
  readonly watch?: FrontWatch
  /** Bounds that tests make small. */
  readonly connections?: number
  readonly most_sockets?: number
  readonly token_sweep_ms?: number
}

export interface FrontCounts {
  readonly connections: number
  readonly sockets: number
}

const TOKEN_ENDED = 4401
const TOKEN_ENDED_WHY = 'the token has ended; sign in again'
const GOING_AWAY = 1001
const INTERNAL_ERROR = 1011
const UNSUPPORTED_DATA = 1003
/** Another process may take a free port between the look and the listen. */
const FREE_PORT_TRIES = 5

const NOBODY: Credential = { token: null, by_cookie: false }
const NO_HEADERS: Readonly<Record<string, string>> = Object.freeze({})

type Library = typeof import('uWebSockets.js') & { readonly LIBUS_LISTEN_EXCLUSIVE_PORT: number }
/** `listen` as the binary has it, with options after the host; the package's types have it only without a host. */
type Listen = (host: string, port: number, options: number, done: (socket: us_listen_socket | false) => void) => void
/** The library makes this object the websocket itself. */
interface Attached {
  live: LiveSocket
}

/** The library reads its header bound from the environment once, when it is first loaded. */
async function loadLibrary(): Promise<Library> {
  process.env['UWS_HTTP_MAX_HEADERS_SIZE'] ??= String(limits.HEADER_BYTES)
  return (await import('uWebSockets.js')) as Library
}

export async function createFront(options: FrontOptions): Promise<Front> {
  return new Front(await loadLibrary(), options)
}

export class Front implements Publisher {
  readonly #library: Library
  readonly #app: TemplatedApp
  readonly #options: FrontOptions
  readonly #tree: RouteTree<ServedRoute>
  readonly #gate: Gate
  readonly #services: ExchangeServices
  readonly #sockets = new Set<LiveSocket>()
  #socket_ids = 0
  #connections = 0
  #sweep: NodeJS.Timeout | null = null
  #closed = false
  /** Whether the log has the warning about a peer that forwards addresses and is not trusted. */
  #warned = false

  constructor(library: Library, options: FrontOptions) {
    this.#library = library
    this.#options = options
    this.#gate = new Gate(options.hosts)
    const { admissions, log, watch = new FrontWatch({ log }) } = options
    this.#services = { admissions, log, watch, budget: { bytes: 0, raw_bytes: 0, uploads: 0 } }
    const served = options.routes.map(route => new ServedRoute(route))
    watch.follow(served)
    this.#tree = new RouteTree(served)
    this.#app = library.App()
    const most = options.connections ?? limits.CONNECTIONS
    // biome-ignore lint/suspicious/useIterableCallbackReturn: this filter is not a list's
    this.#app.filter((res, change) => {
      this.#connections += change
      if (change > 0 && this.#connections > most) res.close()
    })
    for (const handlers of options.sockets) this.#serveSockets(handlers)
    if (options.sockets.length > 0) {
      this.#sweep = setInterval(() => this.endStale(), options.token_sweep_ms ?? limits.TOKEN_SWEEP_MS)
      this.#sweep.unref()
    }
    this.#app.any('/*', (res, req) => {
      try {
        this.#request(res, req)
      } catch (error) {
        this.#giveUp(res, error)
      }
    })
  }

  /** Resolves with the port, also when 0 was asked for. Rejects with `address_in_use`. */
  async listen(host: string, port: number): Promise<number> {
    for (let tries = port === 0 ? FREE_PORT_TRIES : 1; ; tries--) {
      const named = port === 0 ? await freePort(host) : port
      if (await this.#listen(host, named)) return named
      if (tries === 1) throw new ServiceError('address_in_use', `Nothing can listen on ${host} port ${named}.`)
    }
  }

  #listen(host: string, port: number): Promise<boolean> {
    const listen = this.#app.listen.bind(this.#app) as unknown as Listen
    return new Promise(resolve => {
      listen(host, port, this.#library.LIBUS_LISTEN_EXCLUSIVE_PORT, socket => resolve(socket !== false))
    })
  }

  /**
   * Stops listening and ends every connection at once, websockets with code 1001; `close` of each socket is called before this
   * returns.
   */
  close(): void {
    if (this.#closed) return
    if (this.#sweep !== null) clearInterval(this.#sweep)
    for (const live of [...this.#sockets]) live.end(GOING_AWAY, 'the engine stops')
    this.#closed = true
    this.#app.close()
  }

  counts(): FrontCounts {
    return { connections: this.#connections, sockets: this.#sockets.size }
  }

  publish(topic: string, text: string | Uint8Array): boolean {
    return this.#canPublish && this.#app.publish(topic, text, false)
  }

  publishBinary(topic: string, bytes: Uint8Array): boolean {
    return this.#canPublish && this.#app.publish(topic, bytes, true)
  }

  subscribers(topic: string): number {
    return this.#canPublish ? this.#app.numSubscribers(topic) : 0
  }

  /** The library ends the process when something is published without a websocket route or after the close. */
  get #canPublish(): boolean {
    return this.#options.sockets.length > 0 && !this.#closed
  }

  #request(res: HttpResponse, req: HttpRequest): void {
    const method = req.getCaseSensitiveMethod()
    const path = req.getUrl()
    const query = req.getQuery() ?? ''
    const gate = this.#gate
    const refusal = gate.inspect(method, path, query, req)
    if (refusal !== null) {
      refuse(res, new ServiceError(refusal.code, refusal.detail), path, false, true)
      return
    }
    const params: Record<string, string> = {}
    const leaf = this.#tree.find(path, params)
    const head = method === 'HEAD'
    // The library drops a body that nobody reads; when it may be long, the connection is ended.
    const cut = gate.chunked || gate.content_length > limits.BODY_DRAIN_BYTES
    if (leaf === null) {
      const isSocket = this.#options.sockets.some(handlers => handlers.path === path)
      const code = isSocket && method === 'GET' ? 'upgrade_required' : 'not_found'
      refuse(res, new ServiceError(code), path, head, cut)
      return
    }
    const served = leaf.methods.get(method)
    if (served === undefined) {
      if (method === 'OPTIONS')
        writeAnswer(res as Responder, { status: 204, headers: { allow: leaf.allow } }, null, false, false)
      else refuse(res, new ServiceError('method_not_allowed'), path, head, cut, { allow: leaf.allow })
      return
    }
    const { headers, raw } = served.route
    const carried =
      raw || headers === 'every' ? everyHeader(req) : headers.length === 0 ? NO_HEADERS : headersOf(req, headers)
    if (carried === null) {
      refuse(res, new ServiceError('malformed_request', 'A header field is given twice.'), path, head, true)
      return
    }
    let credential: Credential = NOBODY
    try {
      if (served.route.scope !== 'open') credential = credentialOf(gate, method, this.#options.session ?? null)
    } catch (error) {
      refuse(res, error, path, head, cut)
      return
    }
    const peer = served.route.address ? addressOfBytes(new Uint8Array(res.getRemoteAddress())) : null
    const exchange = new Exchange(
      this.#services,
      {
        served,
        method,
        path,
        host: gate.host,
        query,
        params,
        token: credential.token,
        by_cookie: credential.by_cookie,
        address: peer === null ? '' : this.#addressOf(peer),
        is_https: peer !== null && this.#options.proxies.isHttps(peer, gate.forwarded_proto),
        content_type: gate.content_type,
        content_length: gate.content_length,
        has_body: gate.has_body,
        chunked: gate.chunked,
        headers: carried,
      },
      res as Channel,
    )
    exchange.start()
  }

  /** The last resort of a callback: ends the connection, and never throws. */
  #giveUp(res: HttpResponse, error: unknown): void {
    this.#options.log.error('request_not_served', { error })
    try {
      res.close()
    } catch {
      // It was answered already.
    }
  }

  #addressOf(peer: string): string {
    const { proxies, log } = this.#options
    const { forwarded_for } = this.#gate
    // Mostly a proxy that is missing in TRUSTED_PROXIES, so that all its users count as one client. Anybody can send the header, so this is logged once.
    if (forwarded_for !== '' && !this.#warned && !proxies.isTrusted(peer)) {
      this.#warned = true
      log.warn('forwarded_for_not_trusted', { peer, setting: 'TRUSTED_PROXIES' })
    }
    return proxies.clientOf(peer, forwarded_for)
  }

  #serveSockets(handlers: SocketHandlers): void {
    const { log } = this.#options
    const call = (live: LiveSocket, work: () => void): void => {
      try {
        work()
      } catch (error) {
        log.error('socket_failed', { socket: live.id, error })
        live.end(INTERNAL_ERROR, 'internal error')
      }
    }
    this.#app.ws<Attached>(handlers.path, {
      maxPayloadLength: handlers.frames === 'binary' ? handlers.frame_bytes : limits.SOCKET_FRAME_BYTES,
      maxBackpressure: limits.SOCKET_BACKPRESSURE_BYTES,
      closeOnBackpressureLimit: false,
      idleTimeout: limits.SOCKET_IDLE_S,
      sendPingsAutomatically: true,
      upgrade: (res, req, context) => {
        try {
          this.#upgrade(handlers, res, req, context)
        } catch (error) {
          this.#giveUp(res, error)
        }
      },
      open: ws => {
        const { live } = ws.getUserData()
        live.attach(ws)
        this.#sockets.add(live)
        call(live, () => handlers.open(live))
      },
      message: (ws, message, isBinary) => {
        const { live } = ws.getUserData()
        if (!live.isAdmitted) live.end(TOKEN_ENDED, TOKEN_ENDED_WHY)
        else if (isBinary !== (handlers.frames === 'binary'))
          live.end(UNSUPPORTED_DATA, `frames are ${handlers.frames}`)
        else if (handlers.frames === 'binary') call(live, () => handlers.message(live, Buffer.from(message)))
        else call(live, () => handlers.message(live, Buffer.from(message).toString('utf8')))
      },
      drain: ws => {
        const { live } = ws.getUserData()
        call(live, () => handlers.drain(live))
      },
      close: ws => {
        const { live } = ws.getUserData()
        // The library counts a connection up when it comes, and down only if it never became a websocket.
        this.#connections--
        live.detach()
        this.#sockets.delete(live)
        call(live, () => handlers.close(live))
      },
    })
  }

  #upgrade(handlers: SocketHandlers, res: HttpResponse, req: HttpRequest, context: us_socket_context_t): void {
    const path = req.getUrl()
    const query = req.getQuery() ?? ''
    const refusal = this.#gate.inspect('GET', path, query, req)
    if (refusal !== null) {
      refuse(res, new ServiceError(refusal.code, refusal.detail), path, false, true)
      return
    }
    const admissions = handlers.frames === 'binary' ? handlers.admissions : this.#options.admissions
    let asked: UpgradeRequest
    try {
      asked = readUpgrade(this.#gate, query, handlers.frames === 'text' ? (this.#options.session ?? null) : null)
      const known = admissions.known(asked.token)
      if (known !== null) {
        this.#letIn(handlers, known, asked, res, context)
        return
      }
    } catch (error) {
      refuse(res, error, path, false, false)
      return
    }
    let aborted = false
    res.onAborted(() => {
      aborted = true
    })
    const refuseLate = (error: unknown): void => {
      if (!aborted) res.cork(() => refuse(res, error, path, false, false))
    }
    admissions
      .admit(asked.token)
      .then(admission => {
        // Not corked: when a cork ends, the library looks for the response that it began with, finds in its memory the
        // websocket that took its place, and may close that.
        if (!aborted) this.#letIn(handlers, admission, asked, res, context)
      })
      .catch(refuseLate)
      .catch(error => this.#options.log.error('request_not_served', { path, error }))
  }

  #letIn(
    handlers: SocketHandlers,
    admission: Admission<Caller | WorkerPrincipal>,
    asked: UpgradeRequest,
    res: HttpResponse,
    context: us_socket_context_t,
  ): void {
    const { principal } = admission
    if (!mayOpen(handlers.who, principal)) throw new ServiceError('forbidden')
    if (this.#sockets.size >= (this.#options.most_sockets ?? limits.SOCKETS))
      throw new ServiceError('too_many_connections', 'All places for websockets are taken.', { retry_after_s: 5 })
    const live = new LiveSocket(++this.#socket_ids, { ...admission, principal })
    // Opens the socket before it returns.
    res.upgrade<Attached>({ live }, asked.key, asked.protocol, asked.extensions, context)
  }

  /** Ends the sockets whose token ran out or was signed out, whose user is gone or whose password changed. */
  endStale(): void {
    for (const live of this.#sockets) if (!live.isAdmitted) live.end(TOKEN_ENDED, TOKEN_ENDED_WHY)
  }
}

/** Header fields that occur several times are joined by commas. */
function everyHeader(req: HttpRequest): Record<string, string> {
  const carried: Record<string, string> = Object.create(null)
  req.forEach((name, value) => {
    carried[name] = name in carried ? `${carried[name]}, ${value}` : value
  })
  return carried
}

/** The given header fields, as far as the request has them; null when it has one of them twice. */
function headersOf(req: HttpRequest, names: readonly string[]): Record<string, string> | null {
  const carried: Record<string, string> = {}
  let isTwice = false
  req.forEach((name, value) => {
    if (!names.includes(name)) return
    isTwice ||= Object.hasOwn(carried, name)
    carried[name] = value
  })
  return isTwice ? null : carried
}

function refuse(
  res: HttpResponse,
  error: unknown,
  path: string,
  headOnly: boolean,
  cut: boolean,
  headers: Record<string, string> = {},
): void {
  const refusal = refusalOf(error, path)
  writeRefusal(res as Responder, { ...refusal, headers: { ...refusal.headers, ...headers } }, headOnly, cut)
}
