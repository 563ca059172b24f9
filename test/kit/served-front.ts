import { generateKeyPairSync } from 'node:crypto'
import { limits } from '../../protocol/limits.ts'
import { Accounts } from '../../server/auth/accounts.ts'
import { Attempts } from '../../server/auth/attempts.ts'
import { Audit } from '../../server/auth/audit.ts'
import { TrustedProxies } from '../../server/auth/client-address.ts'
import { Clients } from '../../server/auth/clients.ts'
import { EveryToken } from '../../server/auth/every-token.ts'
import { Gatekeeper } from '../../server/auth/gatekeeper.ts'
import { KnownAddresses } from '../../server/auth/known-addresses.ts'
import { LastingTokens } from '../../server/auth/lasting-tokens.ts'
import { Passwords } from '../../server/auth/passwords.ts'
import type { Caller } from '../../server/auth/principal.ts'
import { Revocations } from '../../server/auth/revocations.ts'
import { byAddress, SignIn } from '../../server/auth/sign-in.ts'
import { type SigningKey, signingKeyOf } from '../../server/auth/signing-key.ts'
import { StandingClients } from '../../server/auth/standing-clients.ts'
import { StandingPanels } from '../../server/auth/standing-panels.ts'
import { StandingUsers } from '../../server/auth/standing-users.ts'
import { Tokens } from '../../server/auth/tokens.ts'
import { WorkerDoor } from '../../server/calls/processes/worker-door.ts'
import { WorkerHub, WorkersSocket } from '../../server/calls/processes/worker-hub.ts'
import type { ResourceDesk } from '../../server/calls/resource-desk.ts'
import type { Dashboards } from '../../server/dashboards/dashboards.ts'
import { createFront, type Front } from '../../server/http/front.ts'
import { AllowedHosts } from '../../server/http/hosts.ts'
import type { Route } from '../../server/http/route.ts'
import { SessionCookie } from '../../server/http/session-cookie.ts'
import type { SocketHandlers } from '../../server/http/socket.ts'
import type { McpEndpoint } from '../../server/mcp/endpoint.ts'
import { Mcp } from '../../server/mcp/mcp.ts'
import { openEndpoint } from '../../server/mcp/open.ts'
import { openOAuth } from '../../server/oauth/open.ts'
import type { Registrations } from '../../server/oauth/registrations.ts'
import type { Log, LogFields } from '../../server/observe/serve-log.ts'
import type { Panels } from '../../server/panels/panels.ts'
import { allRoutes, type Services } from '../../server/routes/all-routes.ts'
import { EngineDouble } from './engine-double.ts'
import { RecordsDouble } from './records-double.ts'
import { flavorsOver, ownMachine } from './resources-double.ts'
import { mintPanel, screens } from './screens-double.ts'
import { secretsOver } from './secrets.ts'
import { UsersDouble } from './users-double.ts'

export const ADA = { name: 'ada', password: 'correct horse battery' }
export const ROOT = { name: 'root', password: 'staple of the kingdom' }

/** Log lines in memory. */
export class LogDouble implements Log {
  readonly lines: { level: string; event: string; fields: LogFields }[] = []
  info(event: string, fields: LogFields = {}): void {
    this.lines.push({ level: 'info', event, fields })
  }
  warn(event: string, fields: LogFields = {}): void {
    this.lines.push({ level: 'warn', event, fields })
  }
  error(event: string, fields: LogFields = {}): void {
    this.lines.push({ level: 'error', event, fields })
  }
  get errors(): string[] {
    return this.lines
      .filter(line => line.level === 'error')
      .map(line => `${line.event} ${String(line.fields['error'])}`)
  }
}

/** Milliseconds since 1970 that move only when a test moves them. */
export class Clock {
  ms = 1_767_225_600_000
  readonly now = (): number => this.ms
}

export interface ServedFront {
  readonly front: Front
  readonly port: number
  readonly url: string
  readonly engine: EngineDouble
  readonly workers: ResourceDesk
  readonly users: UsersDouble
  readonly accounts: Accounts
  readonly tokens: Tokens
  readonly lasting: LastingTokens
  readonly clients: Clients
  readonly registrations: Registrations
  readonly records: RecordsDouble
  readonly dashboards: Dashboards
  readonly panels: Panels
  readonly key: SigningKey
  readonly session: SessionCookie
  readonly clock: Clock
  readonly log: LogDouble
  readonly routes: readonly Route[]
  /** What the events of type `audit` carried, oldest first. */
  readonly audited: Record<string, unknown>[]
  /** Reset tokens that were delivered. */
  readonly resets: { name: string; token: string }[]
  /** Access tokens of a plain user and of a superuser. */
  readonly user: string
  readonly superuser: string
  /** Who may attach as a worker. */
  readonly door: WorkerDoor
  mint(name: string): Promise<string>
  close(): void
}

export interface FrontSetup {
  sockets?: readonly SocketHandlers[]
  proxies?: readonly string[]
  hosts?: readonly string[]
  public_url?: string
  connections?: number
  most_sockets?: number
  token_sweep_ms?: number
  /** What serves /mcp in place of the service's own. */
  mcp?: () => Promise<McpEndpoint>
  /** Routes in place of the service's own. */
  routes?: (services: Services) => Route[]
}

/** Cheap on purpose: what a test checks is never the cost. */
export const quickPasswords = (): Passwords => new Passwords({ memoryCost: 64, timeCost: 1, parallelism: 1 })

/** The whole front on a free port, before the engine double, with a user and a superuser. */
export async function serveFront(setup: FrontSetup = {}): Promise<ServedFront> {
  const engine = new EngineDouble()
  const workers = ownMachine()
  const users = new UsersDouble()
  const clock = new Clock()
  const log = new LogDouble()
  const resets: { name: string; token: string }[] = []
  const accounts = await Accounts.open(users, quickPasswords())
  await accounts.create(ADA.name, ADA.password, 'editor')
  await accounts.create(ROOT.name, ROOT.password, 'superuser')
  const { privateKey } = generateKeyPairSync('ed25519')
  const key = await signingKeyOf(privateKey.export({ type: 'pkcs8', format: 'pem' }).toString())
  const tokens = new Tokens(key, clock.now)
  const audited: Record<string, unknown>[] = []
  const audit = new Audit(entry => audited.push(entry), clock.now)
  const addresses = new KnownAddresses([], () => {}, clock.now)
  const revocations = new Revocations([], rows => users.revoke(rows), clock.now)
  const lasting = new LastingTokens(undefined, async () => {}, clock.now)
  const records = new RecordsDouble()
  const clients = await Clients.open({ records, now: clock.now, failed: error => log.warn('not_kept', { error }) })
  const { dashboards, panels } = await screens({ records, now_ms: clock.now, mint: mintPanel(tokens) })
  const holds = (token: string, caller: Caller): boolean => callers.known(token)?.principal === caller
  const onDefect = (error: unknown): void => log.error('defect', { error })
  const search: Services['search'] = async () => ({ found: [], more: false, complete: true })
  const mcp = new Mcp(
    setup.mcp ?? (async () => openEndpoint({ engine, audit, search, onDefect, holds, now_ms: clock.now })),
  )
  const session = new SessionCookie(key.id, setup.public_url ?? null)
  const gatekeeper = new Gatekeeper(tokens, new StandingUsers(accounts, revocations), clock.now)
  const agents = new Gatekeeper(tokens, new StandingClients(clients, accounts, clock.now), clock.now)
  const sign_in = new SignIn({ accounts, addresses, audit, now: clock.now })
  const { oauth, registrations } = await openOAuth({
    records: records,
    clients,
    accounts,
    tokens,
    agents,
    sign_in,
    audit,
    now_ms: clock.now,
    onDefect,
  })
  const services: Services = {
    engine,
    dashboards,
    panels,
    flavors: flavorsOver(engine),
    workers,
    secrets: (await secretsOver()).live,
    search,
    accounts,
    tokens,
    session,
    sign_in,
    oauth,
    registrations,
    registering: new Attempts(byAddress, clock.now),
    public_url: setup.public_url ?? null,
    revocations,
    lasting,
    clients,
    mcp,
    now: clock.now,
    addresses,
    audit,
    recoveries: new Attempts(byAddress, clock.now),
    resets: new Attempts(byAddress, clock.now),
    changes: new Attempts(byAddress, clock.now),
    reset_links: { deliver: async ({ name }, token) => void resets.push({ name, token }) },
    log,
  }
  const routes = (setup.routes ?? allRoutes)(services)
  const paired = new Gatekeeper(tokens, new StandingPanels(panels), clock.now)
  const callers = new EveryToken({ access: gatekeeper, client: agents, panel: paired }, lasting)
  const door = new WorkerDoor(tokens, callers, clock.now)
  const hub = new WorkerHub({
    welcome: {
      heartbeat_s: 10,
      memory_mb: 100,
      place: { bodies: '/bodies', artifacts: '/artifacts', max_artifact_bytes: 0 },
    },
    silent_ms: 90_000,
    now_ms: clock.now,
    welcomed: () => {},
  })
  const front = await createFront({
    routes,
    sockets: [...(setup.sockets ?? []), new WorkersSocket(hub, door)],
    admissions: callers,
    session,
    proxies: new TrustedProxies(setup.proxies ?? []),
    hosts: new AllowedHosts(setup.hosts ?? [], '127.0.0.1'),
    log,
    connections: setup.connections,
    most_sockets: setup.most_sockets,
    token_sweep_ms: setup.token_sweep_ms,
  })
  const endStale = (): void => {
    front.endStale()
    mcp.endStale()
  }
  accounts.onChange(endStale)
  revocations.onChange(endStale)
  clients.onChange(endStale)
  panels.onEnded(endStale)
  const port = await front.listen('127.0.0.1', 0)
  const mint = (name: string): Promise<string> =>
    tokens.mint('access', name, accounts.find(name)!.digest, limits.TOKEN_LIFETIME_S)
  return {
    front,
    port,
    url: `http://127.0.0.1:${port}`,
    engine,
    workers,
    users,
    accounts,
    tokens,
    lasting,
    clients,
    registrations,
    records,
    dashboards,
    panels,
    key,
    session,
    clock,
    log,
    routes,
    audited,
    resets,
    user: await mint(ADA.name),
    superuser: await mint(ROOT.name),
    door,
    mint,
    close: () => {
      front.close()
      void mcp.close()
      void engine.artifacts.close()
    },
  }
}

/** A flow document with one input `raw` and one node that makes `smooth` of it. */
export const boiler = {
  nodes: [
    {
      id: 'smoother',
      type: 'code',
      source: 'export default ({ raw }) => ({ smooth: raw })',
      ports: { inputs: [{ name: 'raw', dtype: 'float' }], outputs: [{ name: 'smooth', dtype: 'float' }] },
    },
  ],
  inputs: [{ message: 'raw', dtype: 'float' }],
} as const
