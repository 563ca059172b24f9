import { readdirSync } from 'node:fs'
import { isIP } from 'node:net'
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { ServiceError } from '../protocol/errors.ts'
import { limits } from '../protocol/limits.ts'
import { MAIL_PATTERN } from '../protocol/names.ts'
import { type SettingName, settings } from '../protocol/settings.ts'
import type { ArtifactRule } from './artifacts/sweep.ts'
import type { RetentionRule, RetentionRules } from './runs/retention.ts'

const MIB = 1024 * 1024

/** What `svc serve` runs with, checked. Nothing else in the server reads the environment. */
export interface Config {
  readonly max_runs: number
  readonly max_cascades: number
  readonly max_workers: number
  readonly lanes: number
  /** Of nodes that do not say it. */
  readonly isolation: 'thread' | 'process'
  /** Null: the engine's own. */
  readonly body_user: string | null
  /** Until they are acknowledged; else until the node runs well again. */
  readonly keep_node_errors: boolean
  readonly cpus: number
  readonly gpus: number
  readonly host: string
  /** 0 picks a free one. */
  readonly port: number
  /** `--data-dir` or DATA_DIR as given; null when the installation is to be searched for. */
  readonly data_dir: string | null
  readonly global: boolean
  /** The path that DATABASE_URL names; null when it names none. The installation holds it against its own file. */
  readonly database_path: string | null
  readonly node_venv: 'auto' | 'managed'
  readonly timezone: string
  readonly trusted_proxies: readonly string[]
  /** The address at which browsers reach the engine: scheme and host, nothing behind it. */
  readonly public_url: string | null
  /** Null: none is sent. With it `public_url` is given. */
  readonly mail: MailServer | null
  /** Besides the loopback names and `host`. */
  readonly allowed_hosts: readonly string[]
  /** Which addresses connectors may reach. */
  readonly reach: { readonly allow: readonly string[]; readonly deny: readonly string[] }
  /** 0: no bound. */
  readonly max_artifact_bytes: number
  /** 0: no sweep by itself. */
  readonly artifact_gc_interval_s: number
  readonly artifacts_keep: ArtifactRule
  readonly artifact_volatile_bytes: number
  readonly retention: RetentionRules
  readonly plain: boolean
  readonly example: boolean
}

/** Who takes mails. */
export interface MailServer {
  readonly host: string
  readonly port: number
  /** TLS from the first byte; else the connection changes to TLS where the server offers it. */
  readonly secure: boolean
  /** Empty: the server asks for none. */
  readonly user: string
  readonly password: string
  readonly from: string
}

export interface ConfigSource {
  /** What follows `svc serve`. */
  readonly argv: readonly string[]
  readonly environment: Readonly<Record<string, string | undefined>>
  /** The cores of this machine; counted when absent. */
  readonly cores?: number
  /** The cards of this machine; counted when absent. */
  readonly countCards?: () => number
}

/** A setting as the user wrote it, with the name under which they wrote it: the flag when there is one, else the variable. */
interface Given {
  readonly text: string
  readonly name: string
}

const refuse = (given: Given, expected: string): never => {
  throw new ServiceError('bad_setting', `${given.name} is ${JSON.stringify(given.text)}: ${expected}.`)
}

/** Cards as the kernel shows them: `/dev/nvidia0`, `/dev/nvidia1`, and so on. */
function countCards(): number {
  try {
    return readdirSync('/dev').filter(name => /^nvidia\d+$/.test(name)).length
  } catch {
    return 0
  }
}

/** Throws ServiceError `bad_setting` or `wrong_database`, naming the variable or flag. Touches no file. */
export function readConfig(source: ConfigSource): Config {
  const flags = readFlags(source.argv)
  const given = (name: SettingName): Given | null => {
    const { variable, flag } = settings[name]
    const byFlag = flags.get(name)
    if (typeof byFlag === 'string') return { text: byFlag, name: flag! }
    const text = variable === null ? undefined : source.environment[variable]
    return text === undefined || text === '' ? null : { text, name: variable! }
  }
  const integer = (name: SettingName, least: number, most: number, byDefault: number): number => {
    const it = given(name)
    if (it === null) return byDefault
    const expected = least === 1 ? `a positive integer of at most ${most} is needed` : `${least} to ${most} is needed`
    const value = /^\d{1,15}$/.test(it.text) ? Number(it.text) : -1
    return value < least || value > most
      ? refuse(it, `${expected}; without it the default is used (${settings[name].default})`)
      : value
  }
  const kept = (days: SettingName, mb: SettingName, byDefault: number): ArtifactRule => ({
    days: integer(days, 0, 36_500, 0),
    bytes: integer(mb, 0, 1_000_000_000, byDefault / MIB) * MIB,
  })
  const rule = (days: SettingName, mb: SettingName, byDefault: number, count = 0): RetentionRule => ({
    ...kept(days, mb, byDefault),
    count,
  })
  const cores = source.cores ?? availableParallelism()
  const global = flags.get('global') === true
  const data_dir = given('data_dir')
  if (global && data_dir?.name === '--data-dir') {
    refuse(data_dir, '--global already names the installation; give only one of the two')
  }
  const isolation = readOneOf(given('isolation'), 'thread', 'process')
  const body_user = given('body_user')?.text ?? null
  if (body_user !== null && given('isolation') !== null && isolation === 'thread')
    refuse(given('isolation')!, 'FLOW_BODY_USER needs process; threads run with the account of the engine')
  const public_url = readPublicUrl(given('public_url'))
  const gpus = integer('gpus', 0, limits.MACHINE_CARDS, 0)
  return {
    max_runs: integer('max_runs', 1, 10_000, limits.MAX_RUNS),
    max_cascades: integer('max_cascades', 1, 1_000_000, limits.MAX_CASCADES),
    max_workers: integer('max_workers', 1, 1_024, Math.max(2, cores)),
    lanes: integer('lanes', 1, limits.LANES, Math.min(limits.LANES, Math.max(2, cores - 1))),
    isolation: body_user === null ? isolation : 'process',
    body_user,
    keep_node_errors: integer('keep_node_errors', 0, 1, 0) === 1,
    cpus: integer('cpus', 1, 4_096, Math.max(1, cores - 2)),
    gpus: gpus === 0 ? (source.countCards ?? countCards)() : gpus,
    host: readHost(given('host')),
    port: integer('port', 0, 65_535, 8_700),
    data_dir: data_dir?.text ?? null,
    global,
    database_path: readDatabase(given('database_url')),
    node_venv: readOneOf(given('node_venv'), 'auto', 'managed'),
    timezone: readTimezone(given('timezone')),
    trusted_proxies: readNetworks(given('trusted_proxies')),
    public_url,
    mail: readMail(given('smtp_url'), given('mail_from'), public_url),
    allowed_hosts: [
      ...readHosts(given('allowed_hosts')),
      ...(public_url === null ? [] : [new URL(public_url).hostname]),
    ],
    reach: { allow: readNetworks(given('connector_allow')), deny: readNetworks(given('connector_deny')) },
    max_artifact_bytes: integer('max_artifact_bytes', 0, 10 ** 15 - 1, limits.ARTIFACT_BYTES),
    artifact_gc_interval_s: integer('artifact_gc_interval_s', 0, 2_000_000, limits.ARTIFACT_GC_INTERVAL_S),
    artifacts_keep: kept('artifacts_keep_days', 'artifacts_keep_mb', 0),
    artifact_volatile_bytes: integer(
      'artifact_volatile_bytes',
      limits.VOLATILE_BYTES_MIN,
      limits.VOLATILE_BYTES_MAX,
      limits.VOLATILE_BYTES,
    ),
    retention: {
      runs: rule('runs_keep_days', 'runs_keep_mb', 0, integer('runs_keep_count', 0, 1_000_000_000, 0)),
      run_logs: rule('run_logs_keep_days', 'run_logs_keep_mb', limits.RUN_LOGS_BYTES),
      run_metrics: rule('run_metrics_keep_days', 'run_metrics_keep_mb', limits.RUN_METRICS_BYTES),
    },
    plain: flags.get('plain') === true,
    example: flags.get('example') === true,
  }
}

function readFlags(argv: readonly string[]): Map<SettingName, string | boolean> {
  const options: Record<string, { type: 'string' | 'boolean' }> = {}
  const names = new Map<string, SettingName>()
  for (const [name, { flag, argument }] of Object.entries(settings)) {
    if (flag === null) continue
    options[flag.slice(2)] = { type: argument === null ? 'boolean' : 'string' }
    names.set(flag.slice(2), name as SettingName)
  }
  try {
    const { values } = parseArgs({ args: [...argv], options, allowPositionals: false, strict: true })
    return new Map(Object.entries(values).map(([flag, value]) => [names.get(flag)!, value as string | boolean]))
  } catch (error) {
    const [sentence] = (error as Error).message.split('. ')
    throw new ServiceError('bad_setting', `${sentence!.replace(/\.$/, '')}. "svc serve --help" lists the flags.`)
  }
}

function readHost(given: Given | null): string {
  if (given === null) return '127.0.0.1'
  const isHost = isIP(given.text) !== 0 || /^[A-Za-z0-9]([A-Za-z0-9.-]{0,252})$/.test(given.text)
  return isHost ? given.text : refuse(given, 'an IP address or a host name of this machine is needed')
}

/** `sqlite:` alone names the embedded database whatever its file; with a path it has to be that file. */
function readDatabase(given: Given | null): string | null {
  if (given === null) return null
  const match = /^(?:sqlite|file):(?:\/\/)?\/?(.*)$/.exec(given.text)
  if (match !== null) return match[1] === '' ? null : match[1]!.replaceAll('%20', ' ')
  const scheme = /^[A-Za-z][A-Za-z0-9+.-]*(?=:)/.exec(given.text)?.[0] ?? 'no known scheme'
  // The address may carry a password, so only its scheme is shown.
  throw new ServiceError('wrong_database', `${given.name} names another database engine (${scheme}).`)
}

function readOneOf<Word extends string>(given: Given | null, byDefault: Word, other: Word): Word {
  if (given === null) return byDefault
  const word = [byDefault, other].find(one => one === given.text)
  return word ?? refuse(given, `${byDefault} or ${other} is needed`)
}

function readTimezone(given: Given | null): string {
  if (given === null) return 'UTC'
  try {
    return new Intl.DateTimeFormat('en', { timeZone: given.text.replace(/^:/, '') }).resolvedOptions().timeZone
  } catch {
    return refuse(given, 'a timezone such as Europe/Berlin is needed')
  }
}

function readNetworks(given: Given | null): string[] {
  if (given === null) return []
  const entries = given.text.split(',').map(entry => entry.trim())
  for (const entry of entries.filter(Boolean)) {
    const [address, bits, ...rest] = entry.split('/')
    const family = isIP(address!)
    const most = family === 4 ? 32 : 128
    const isNetwork = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= most)
    if (family === 0 || !isNetwork || rest.length > 0) {
      refuse(given, 'addresses or networks such as 10.0.0.0/8 are needed, separated by commas')
    }
  }
  return entries.filter(Boolean)
}

function readPublicUrl(given: Given | null): string | null {
  if (given === null) return null
  const url = URL.parse(given.text)
  const isBare = url !== null && url.pathname === '/' && url.search === '' && url.hash === '' && url.username === ''
  if (!isBare || !['http:', 'https:'].includes(url.protocol) || url.password !== '')
    return refuse(given, 'an address such as https://engine.example is needed, without a path')
  return url.origin
}

/** The address may carry a password, so no refusal shows it. */
function readMail(smtp: Given | null, from: Given | null, public_url: string | null): MailServer | null {
  if (smtp === null) return null
  const bad = (detail: string): never => {
    throw new ServiceError('bad_setting', detail)
  }
  const url = URL.parse(smtp.text)
  const secure = url?.protocol === 'smtps:'
  const isBare = url !== null && ['', '/'].includes(url.pathname) && url.search === '' && url.hash === ''
  if (!isBare || !(secure || url.protocol === 'smtp:') || url.hostname === '')
    return bad(`${smtp.name} is no address such as smtp://user:password@mail.example:587 or smtps://mail.example.`)
  if (from === null) return bad(`${smtp.name} needs MAIL_FROM as well: the address that mails come from.`)
  const address = /^[^<>"\\\r\n]{1,128} <([^<>]*)>$/.exec(from.text)?.[1] ?? from.text
  if (!MAIL.test(address)) refuse(from, 'a mail address is needed, or "name <address>"')
  if (public_url === null) return bad(`${smtp.name} needs PUBLIC_URL as well: links in mails begin with it.`)
  const decoded = [url.username, url.password].map(text => {
    try {
      return decodeURIComponent(text)
    } catch {
      return bad(`${smtp.name} holds a user or a password that is not percent-encoded UTF-8.`)
    }
  })
  const port = url.port === '' ? (secure ? 465 : 587) : Number(url.port)
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  return { host, port, secure, user: decoded[0]!, password: decoded[1]!, from: from.text }
}

const MAIL = new RegExp(MAIL_PATTERN)
const HOST_NAME = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,253})$/

function readHosts(given: Given | null): string[] {
  if (given === null) return []
  const entries = given.text
    .split(',')
    .map(entry => entry.trim())
    .filter(Boolean)
  for (const entry of entries) {
    const address = entry.startsWith('[') && entry.endsWith(']') ? entry.slice(1, -1) : entry
    if (isIP(address) === 0 && !HOST_NAME.test(entry))
      refuse(given, 'host names and addresses without a port are needed, separated by commas')
  }
  return entries
}
