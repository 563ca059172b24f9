import { limits } from '../protocol/limits.ts'
import { WORKER_PATH } from '../protocol/worker/wire.ts'
import { Accounts } from './auth/accounts.ts'
import { Attempts } from './auth/attempts.ts'
import { Audit } from './auth/audit.ts'
import { TrustedProxies } from './auth/client-address.ts'
import { Clients } from './auth/clients.ts'
import { EveryToken } from './auth/every-token.ts'
import { Gatekeeper } from './auth/gatekeeper.ts'
import { KnownAddresses } from './auth/known-addresses.ts'
import { LASTING_TOKENS, LastingTokens } from './auth/lasting-tokens.ts'
import { Passwords } from './auth/passwords.ts'
import type { Caller } from './auth/principal.ts'
import { Revocations } from './auth/revocations.ts'
import { byAddress, SignIn } from './auth/sign-in.ts'
import { signingKeyOf } from './auth/signing-key.ts'
import { StandingClients } from './auth/standing-clients.ts'
import { StandingPanels } from './auth/standing-panels.ts'
import { StandingUsers } from './auth/standing-users.ts'
import { type Claims, Tokens } from './auth/tokens.ts'
import type { Users } from './auth/users.ts'
import { liveBounds } from './calls/bounds.ts'
import { WorkerDoor } from './calls/processes/worker-door.ts'
import { WorkersSocket } from './calls/processes/worker-hub.ts'
import { LogFollowers } from './fanout/log-followers.ts'
import { ActivityFollowers } from './fanout/sockets/activity-followers.ts'
import { FlowsSocket } from './fanout/sockets/flows.ts'
import { createFront } from './http/front.ts'
import { AllowedHosts } from './http/hosts.ts'
import { limitReceiveBuffers } from './http/receive-buffer.ts'
import { SessionCookie } from './http/session-cookie.ts'
import type { MintedToken } from './installation/installation.ts'
import { LiveEngine } from './live-engine.ts'
import { Mailer } from './mail/mailer.ts'
import { ResetLinks } from './mail/reset-links.ts'
import { loadInTurns } from './mcp/load.ts'
import { Mcp } from './mcp/mcp.ts'
import { openOAuth } from './oauth/open.ts'
import { allRoutes, type Services } from './routes/all-routes.ts'
import type { RunningEngine, StartOptions } from './running-engine.ts'
import { openScreens } from './screens.ts'
import type { Store } from './store/front/client.ts'
import type { KnownAddress } from './store/front/requests.ts'
import { FrontWatch } from './watch/front-watch.ts'

/** Puts the service together: the live engine, the accounts, the front. The only place where anything is wired. */
export async function startEngine(options: StartOptions): Promise<RunningEngine> {
  const { config, installation, log, opening, onFatal } = options
  const { data_dir } = installation
  const watch = new FrontWatch({ log, look_ms: (options.bounds ?? liveBounds).front_look_ms })
  const engine = await LiveEngine.open({
    config,
    data_dir,
    log,
    key_file: installation.key_file,
    front_watch: watch,
    opening,
    wall_ms: options.wall_ms,
    prints: options.prints ?? false,
    bounds: options.bounds,
    onFatal,
  })
  const accounts = await Accounts.open(usersOf(engine.store), new Passwords())
  if (accounts.count === 0) {
    await installation.makeAdmin(
      async ({ name, password }) => void (await accounts.create(name, password, 'superuser')),
    )
  }
  const { clock } = engine.front
  // Tokens say until when they are good by the time of day; how often somebody may try goes by the clock that never jumps.
  const wallMs = (): number => Math.floor(clock.now_us() / 1000)
  const ageMs = (): number => Math.floor(clock.age_us() / 1000)
  const steadyMs = (): number => Math.floor(clock.steady_us() / 1000)
  const key = await signingKeyOf(installation.signing_key_pem)
  const tokens = new Tokens(key, wallMs)
  const { known, revoked } = engine.sign_ins
  const revocations = new Revocations(revoked, rows => engine.store.sign_ins.revoke(rows), wallMs, ageMs)
  const keepAddress = (address: KnownAddress): void => {
    engine.store.sign_ins.know(address).catch(error => log.warn('address_not_kept', { user: address.user, error }))
  }
  const addresses = new KnownAddresses(known, keepAddress, wallMs)
  const audit = new Audit(entry => engine.announce('audit', null, entry), steadyMs)
  const keepTokens = (text: string): Promise<null> => engine.store.putSetting(LASTING_TOKENS, text)
  const lasting = new LastingTokens(engine.settings[LASTING_TOKENS], keepTokens, wallMs)
  const onDefect = (error: unknown): void => log.error('defect', { error })
  const holds = (token: string, caller: Caller): boolean => callers.known(token)?.principal === caller
  const search: Services['search'] = (text, limit) => engine.store.search(text, limit)
  const mcp = new Mcp(async () => {
    const { openEndpoint } = await loadInTurns<typeof import('./mcp/open.ts')>(
      new URL('./mcp/open.ts', import.meta.url),
    )
    return openEndpoint({ engine, audit, search, onDefect, holds, now_ms: steadyMs })
  })
  const clients = await Clients.open({
    records: engine.store.records,
    now: wallMs,
    failed: error => log.warn('client_use_not_kept', { error }),
  })
  const { dashboards, panels, panel_sockets } = await openScreens({ engine, tokens, steady_ms: steadyMs, onDefect })
  const mailer = config.mail === null ? null : await Mailer.open(config.mail)
  const reset_links = new ResetLinks({
    mailer,
    public_url: config.public_url,
    keep: (name, token) => installation.keepReset(name, token),
    log,
    now: steadyMs,
  })
  const session = new SessionCookie(key.id, config.public_url)
  const users = new Gatekeeper(tokens, new StandingUsers(accounts, revocations), wallMs)
  const agents = new Gatekeeper(tokens, new StandingClients(clients, accounts, wallMs), wallMs)
  const sign_in = new SignIn({ accounts, addresses, audit, now: steadyMs })
  const { oauth, registrations } = await openOAuth({
    records: engine.store.records,
    clients,
    accounts,
    tokens,
    agents,
    sign_in,
    audit,
    now_ms: wallMs,
    onDefect,
  })
  const routes = allRoutes({
    engine,
    dashboards,
    panels,
    flavors: engine.flavors,
    secrets: engine.secrets,
    search,
    workers: engine.workers,
    accounts,
    tokens,
    session,
    sign_in,
    oauth,
    registrations,
    registering: new Attempts({ ...byAddress, what: 'registrations' }, steadyMs),
    public_url: config.public_url,
    revocations,
    lasting,
    clients,
    mcp,
    now: wallMs,
    addresses,
    audit,
    recoveries: new Attempts({ ...byAddress, what: 'requests for a new password' }, steadyMs),
    resets: new Attempts(byAddress, steadyMs),
    changes: new Attempts(byUser, steadyMs),
    log,
    reset_links,
  })
  const logs = new LogFollowers(engine.run_logs, onDefect)
  engine.run_logs.onWritten(run => logs.written(run))
  const activity = new ActivityFollowers(engine.activity, onDefect)
  engine.activity.onLook(() => activity.looked())
  const screens = new Gatekeeper(tokens, new StandingPanels(panels), wallMs)
  const callers = new EveryToken({ access: users, client: agents, panel: screens }, lasting)
  const door = new WorkerDoor(tokens, callers, steadyMs)
  const front = await createFront({
    routes,
    sockets: [
      new FlowsSocket({
        fanout: engine.fanout,
        panels: panel_sockets,
        logs,
        activity,
        figures: engine.figures,
        directory: engine.map,
        messages: engine.messages,
        onDefect,
      }),
      new WorkersSocket(engine.hub, door),
    ],
    admissions: callers,
    session,
    proxies: new TrustedProxies(config.trusted_proxies),
    hosts: new AllowedHosts(config.allowed_hosts, config.host),
    log,
    watch,
  })
  engine.fanout.attach(front)
  const endStale = (): void => {
    front.endStale()
    mcp.endStale()
  }
  accounts.onChange(endStale)
  revocations.onChange(endStale)
  clients.onChange(endStale)
  panels.onEnded(endStale)
  const port = await front.listen(config.host, config.port).catch(async error => {
    front.close()
    await engine.close()
    throw error
  })
  /** The token that lies in the file. */
  let in_file: Claims | null = null
  engine.openDoor({
    url: `ws://${dialled(config.host)}:${port}${WORKER_PATH}`,
    mint: id => door.mint(id),
    forget: id => door.forget(id),
  })
  return {
    url: `http://${config.host.includes(':') ? `[${config.host}]` : config.host}:${port}`,
    engine,
    begin: () => {
      watch.start()
      // A turn of their own each: starting threads and forking a process take some 20 ms together.
      setImmediate(() => {
        limitReceiveBuffers(port)
          .then(bytes => {
            if (bytes === null) log.warn('receive_buffers_not_limited')
          })
          .catch(onDefect)
      })
      engine.start().catch(onFatal)
    },
    mintToken: async () => {
      const minted = await adminToken(accounts, tokens)
      in_file = await tokens.verify('access', minted.token)
      return minted
    },
    onTokenEnded: handler => {
      accounts.onChange(handler)
      revocations.onChange(() => {
        if (in_file !== null && revocations.isRevoked(in_file)) handler()
      })
    },
    close: async () => {
      watch.stop()
      engine.prepareClose()
      front.close()
      await Promise.all([mcp.close(), mailer?.close()])
      await engine.close()
    },
  }
}

/** Where a process on this machine reaches an engine that listens on the host: on the loopback address, if it is there. */
const dialled = (host: string): string =>
  host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '[::1]' : host.includes(':') ? `[${host}]` : host

const byUser = { ...byAddress, whom: 'one user' }

const usersOf = (store: Store): Users => ({
  find: name => store.users.get(name),
  list: () => store.users.list(),
  put: user => store.users.put({ ...user, create: false }),
  remove: name => store.users.delete(name),
  count: () => store.users.count(),
})

/** For the token file: the first superuser's. Its file is private to the user who runs the engine. */
async function adminToken(accounts: Accounts, tokens: Tokens): Promise<MintedToken> {
  const admin = accounts.list().find(account => account.role === 'superuser' && !account.disabled)
  if (admin === undefined) throw new RangeError('an engine has a superuser')
  const token = await tokens.mint('access', admin.name, admin.digest, limits.TOKEN_LIFETIME_S)
  return { token, lifetime_s: limits.TOKEN_LIFETIME_S }
}
