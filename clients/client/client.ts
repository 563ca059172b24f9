import { openTransport } from '#client/transport'
import type { Session } from '../../protocol/nouns/accounts/user.ts'
import type { SearchResult } from '../../protocol/nouns/search/found.ts'
import type { Summary } from '../../protocol/nouns/summary.ts'
import type { WorkerResources } from '../../protocol/worker/resources.ts'
import { search } from './accounts/search.ts'
import { Secrets } from './accounts/secrets.ts'
import { LastingTokens } from './accounts/tokens.ts'
import { Artifacts } from './artifacts.ts'
import { Calls } from './calls.ts'
import { Cascades } from './cascades.ts'
import { Clients } from './clients.ts'
import { Events } from './events.ts'
import { Flavors } from './flavors.ts'
import { Flows } from './flows.ts'
import type { LiveSocket, LiveSocketOptions } from './live/live-socket.ts'
import type { MediaFrame } from './live/media.ts'
import { Messages } from './messages.ts'
import { Metrics } from './metrics.ts'
import { Nodes } from './nodes.ts'
import { Runs } from './runs/runs.ts'
import { Dashboards } from './screens/dashboards.ts'
import { Panels } from './screens/panels.ts'
import { Users } from './users.ts'

const CONNECT_TIMEOUT_MS = 5_000
const READ_TIMEOUT_MS = 120_000

export interface ClientOptions {
  /** `http://127.0.0.1:8700` */
  readonly url: string
  /** What `login` answered; without one only what nobody has to sign in for. */
  readonly token?: string | null
  /** 5 s when not given; in browsers, which do not tell when a connection stands, it counts for nothing. */
  readonly connect_timeout_ms?: number
  /** 120 s when not given. */
  readonly read_timeout_ms?: number
}

export interface AccessToken {
  readonly access_token: string
  /** Seconds. */
  readonly expires_in: number
}

/** One engine, noun by noun. Making one opens nothing; its methods throw a ClientError. */
export class Client {
  /** Without a slash at its end. */
  readonly url: string
  readonly flows: Flows
  readonly messages: Messages
  readonly cascades: Cascades
  readonly nodes: Nodes
  readonly runs: Runs
  readonly metrics: Metrics
  readonly flavors: Flavors
  readonly dashboards: Dashboards
  readonly panels: Panels
  readonly secrets: Secrets
  readonly artifacts: Artifacts
  readonly events: Events
  readonly users: Users
  readonly tokens: LastingTokens
  readonly clients: Clients
  readonly #calls: Calls
  readonly #token: string | null

  constructor({ url, token = null, connect_timeout_ms, read_timeout_ms }: ClientOptions) {
    this.url = url.replace(/\/+$/, '')
    const timeouts = {
      connect_ms: connect_timeout_ms ?? CONNECT_TIMEOUT_MS,
      read_ms: read_timeout_ms ?? READ_TIMEOUT_MS,
    }
    this.#token = token
    this.#calls = new Calls(this.url, openTransport(this.url, token, timeouts))
    this.flows = new Flows(this.#calls)
    this.messages = new Messages(this.#calls)
    this.cascades = new Cascades(this.#calls)
    this.nodes = new Nodes(this.#calls)
    this.runs = new Runs(this.#calls, token)
    this.metrics = new Metrics(this.#calls)
    this.flavors = new Flavors(this.#calls)
    this.dashboards = new Dashboards(this.#calls)
    this.panels = new Panels(this.#calls)
    this.secrets = new Secrets(this.#calls)
    this.artifacts = new Artifacts(this.#calls)
    this.events = new Events(this.#calls)
    this.users = new Users(this.#calls)
    this.tokens = new LastingTokens(this.#calls)
    this.clients = new Clients(this.#calls)
  }

  /** How the engine is. */
  status(): Promise<Summary> {
    return this.#calls.get('/observability/summary')
  }

  /** What each machine has and who holds it, and which nodes wait for what: the first ones, or those of one run. */
  resources(run?: string): Promise<WorkerResources> {
    return this.#calls.get('/workers/resources', run === undefined ? {} : { run })
  }

  /** Flows, nodes, messages and what else has these words in its name or text; the best first. For superusers. */
  search(text: string, limit?: number): Promise<SearchResult> {
    return search(this.#calls, text, limit)
  }

  /** Every body is loaded again, with what it imports. */
  async refreshModules(): Promise<void> {
    await this.#calls.json({ method: 'POST', path: '/modules/refresh', idempotent: true })
  }

  /**
   * The bytes behind values of these messages (`image`, `audio`, `video`, `artifact`), as they are published: of each the newest, and the present one
   * first. Ends with a ClientError when a name has no frames.
   */
  async *media(
    names: readonly string[],
    { signal }: { readonly signal?: AbortSignal } = {},
  ): AsyncGenerator<MediaFrame, void, undefined> {
    const { followMedia } = await import('./live/media.ts')
    yield* followMedia({ url: this.url, token: this.#token }, names, signal)
  }

  async login(username: string, password: string): Promise<AccessToken> {
    const form = { username, password }
    return (await this.#calls.json<AccessToken>({ method: 'POST', path: '/login/access-token', form })).body
  }

  /** In a browser: later calls of clients without a token are those of this user. No script sees the token. */
  async startSession(username: string, password: string): Promise<Session> {
    const form = { username, password }
    return (await this.#calls.json<Session>({ method: 'POST', path: '/login/session', form })).body
  }

  /** The token of this client, or of the browser's session, ends. Sent twice it may be refused the second time as signed out. */
  async logout(): Promise<void> {
    await this.#calls.json({ method: 'POST', path: '/logout' })
  }

  /** Ends the connections that are kept for later calls; they keep no process alive. */
  close(): void {
    this.#calls.close()
  }
}

export const connect = (options: ClientOptions): Client => new Client(options)

/** Follows messages, flows and events for as long as it lives. Loaded with the first: most programs follow nothing. */
export async function followLive(options: LiveSocketOptions): Promise<LiveSocket> {
  const { LiveSocket } = await import('./live/live-socket.ts')
  return new LiveSocket(options)
}
