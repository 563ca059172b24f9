import { readFileSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { ENGINE_FILE, type EngineFile, installationPlace, type Place, TOKEN_FILE } from '../../protocol/installation.ts'
import { noEngine, usage } from './failure.ts'
import { KeptLogins } from './kept-logins.ts'

export interface FoundEngine {
  /** The address, without a slash at its end. */
  readonly url: string
  readonly token: string | null
  readonly by: '--url' | 'SVC_URL' | 'installation' | 'login'
  /** The data directory of the engine; null when it is not known. */
  readonly data_dir: string | null
}

export interface Search {
  readonly url?: string
  readonly dataDir?: string
  readonly global?: boolean
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly cwd: string
}

/**
 * `--url`, then SVC_URL and SVC_TOKEN, then the installation's `engine.json` and token, then the newest login that was kept.
 * A token goes only to the address that it was given for.
 */
export function findEngine(search: Search): FoundEngine {
  const { environment } = search
  const logins = new KeptLogins(environment)
  const installation = readInstallation(search)
  const tokenFor = (url: string): string | null =>
    environment['SVC_TOKEN'] || (installation?.url === url ? installation.token : (logins.find(url)?.token ?? null))
  const placeFor = (url: string): string | null => (installation?.url === url ? installation.data_dir : null)

  if (search.url !== undefined) {
    const url = engineAddress(search.url, '--url')
    return { url, token: tokenFor(url), by: '--url', data_dir: placeFor(url) }
  }
  if (environment['SVC_URL']) {
    const url = engineAddress(environment['SVC_URL'], 'SVC_URL')
    return { url, token: tokenFor(url), by: 'SVC_URL', data_dir: placeFor(url) }
  }
  if (isAnothers(placeOf(search)))
    throw usage(
      `${placeOf(search).data_dir} was found in a parent directory and belongs to another user. To use it all the same, name it with --data-dir.`,
    )
  if (installation !== null) {
    const { url, pid, data_dir } = installation
    if (url === null) throw noEngine(`The engine of ${data_dir} (process ${pid}) is still starting.`)
    // The file may be somebody else's, for example part of a repository. It must not decide where a token of this user is sent.
    const given = isLoopback(url) ? environment['SVC_TOKEN'] : undefined
    return { url, token: given || installation.token, by: 'installation', data_dir }
  }
  const [newest] = logins.list()
  if (newest !== undefined && search.dataDir === undefined && !search.global) {
    return { url: newest.url, token: environment['SVC_TOKEN'] || newest.token, by: 'login', data_dir: null }
  }
  throw noEngine(`No engine runs for ${placeOf(search).data_dir}.`)
}

/** Whether the address is a loopback address of this machine. */
export const isLoopback = (url: string): boolean =>
  /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(URL.parse(url)?.hostname ?? '')

/** `http://host:port`; a path, a query or a user name in it is a mistake. */
export function engineAddress(text: string, source: string): string {
  const url = URL.parse(text)
  const isPlain = url !== null && url.search === '' && url.hash === '' && url.username === '' && url.pathname === '/'
  if (!isPlain || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw usage(`${source} is ${JSON.stringify(text)}; expected an address such as http://127.0.0.1:8700.`)
  }
  return url.origin
}

function placeOf(search: Search) {
  if (search.global && search.dataDir !== undefined) throw usage('Give --global or --data-dir, not both.')
  return installationPlace({
    data_dir: search.dataDir ?? (search.environment['DATA_DIR'] || null),
    global: search.global ?? false,
    cwd: search.cwd,
    home: homedir(),
    xdg_data_home: search.environment['XDG_DATA_HOME'],
    isDirectory: path => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false,
  })
}

interface RunningInstallation extends EngineFile {
  data_dir: string
  token: string | null
}

/** An installation in a parent folder may belong to another user, who would get what this user sends. To use it, name it with --data-dir. */
function isAnothers({ data_dir, by }: Place): boolean {
  const owner = by === 'found' ? statSync(data_dir, { throwIfNoEntry: false })?.uid : undefined
  return owner !== undefined && process.getuid !== undefined && owner !== process.getuid()
}

function readInstallation(search: Search): RunningInstallation | null {
  const place = placeOf(search)
  if (isAnothers(place)) return null
  const { data_dir } = place
  try {
    const file = JSON.parse(readFileSync(join(data_dir, ENGINE_FILE), 'utf8')) as EngineFile
    return { ...file, data_dir, token: readToken(join(data_dir, TOKEN_FILE)) }
  } catch {
    return null
  }
}

function readToken(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').trim() || null
  } catch {
    return null
  }
}
