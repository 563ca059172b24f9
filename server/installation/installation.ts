import { createHash, generateKeyPairSync, randomInt } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { ServiceError } from '../../protocol/errors.ts'
import {
  DATABASE_FILE,
  ENGINE_FILE,
  type EngineFile,
  installationPlace,
  KEY_FILE,
  LOCK_FILE,
  type Place,
  TOKEN_FILE,
  WAL_FILE,
} from '../../protocol/installation.ts'
import { limits } from '../../protocol/limits.ts'
import { formatTime } from '../../protocol/time.ts'
import { VERSION } from '../../protocol/version.ts'
import { createDatabase } from '../store/front/database-file.ts'
import { checkFiles, holdsUsers, IGNORE_FILE, startRefusal } from './files.ts'
import { InstallationLock } from './lock.ts'
import { isPrivateKey, writePrivate } from './private-file.ts'

export interface InstallationOptions {
  readonly data_dir: string | null
  readonly global: boolean
  /** The path that DATABASE_URL named, which must be this installation's own file. */
  readonly database_path: string | null
  readonly cwd: string
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** The first account: superuser, with a password that is shown once. */
export interface AdminAccount {
  readonly name: string
  readonly password: string
}

const ADMIN = 'admin'
const RESET_FILE = /^reset-[0-9a-f]{16}\.json$/
/** Without 0 O 1 l I: it is read off a screen. 20 of 56 characters are 116 bits. */
const PASSWORD_ALPHABET = '23456789abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ'
const PASSWORD_CHARACTERS = 20
/** Wall time is asked this often, because a timer of hours stops while the machine sleeps. */
const TOKEN_CHECK_MS = 60_000

const isDirectory = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false

export interface MintedToken {
  readonly token: string
  readonly lifetime_s: number
}

/**
 * A directory that one engine owns: its database, key, token, log. Everything in it is made by the engine and for this user
 * alone (folder 700, files 600). File names are fixed or hashes; a name that a user chose never becomes a path.
 */
export class Installation {
  readonly data_dir: string
  /** The file of the store. */
  readonly database: string
  /** The signing key (Ed25519) as PKCS #8 PEM. */
  readonly signing_key_pem: string
  /** The file of the signing key, in which the keys of secrets stand behind it. */
  readonly key_file: { read(): string; replace(text: string): void }
  /** True when this start made it. */
  readonly isNew: boolean
  readonly #lock: InstallationLock
  readonly #started_at = formatTime(Date.now() * 1000)
  #admin: AdminAccount | null = null
  #renewal: NodeJS.Timeout | null = null
  #renewNow: () => void = () => {}

  private constructor(data_dir: string, lock: InstallationLock, signing_key_pem: string, isNew: boolean) {
    this.data_dir = data_dir
    this.database = join(data_dir, DATABASE_FILE)
    this.signing_key_pem = signing_key_pem
    const key = join(data_dir, KEY_FILE)
    this.key_file = {
      read: () => readFileSync(key, 'utf8'),
      replace: text => writePrivate(key, text, { durable: true }),
    }
    this.isNew = isNew
    this.#lock = lock
  }

  /** Throws ServiceError `second_engine`, `wrong_database`, `bad_installation`, `database_missing`, `bad_database`. Makes the directory when there is none. */
  static open(options: InstallationOptions): Installation {
    const place = installationPlace({
      data_dir: options.data_dir,
      global: options.global,
      cwd: options.cwd,
      home: homedir(),
      xdg_data_home: options.environment['XDG_DATA_HOME'],
      isDirectory,
    })
    const { data_dir } = place
    refuseOtherDatabase(options, join(data_dir, DATABASE_FILE))
    prepareDirectory(place)
    checkFiles(data_dir, [LOCK_FILE])
    const lock = InstallationLock.take(join(data_dir, LOCK_FILE))
    if (lock === null) throw secondEngine(data_dir)
    try {
      // Now that nobody else writes them.
      checkFiles(data_dir)
      const isNew = !existsSync(join(data_dir, KEY_FILE))
      if (isNew && holdsUsers(data_dir)) throw keyMissing(join(data_dir, KEY_FILE))
      prepareDatabase(data_dir, isNew)
      for (const stale of [ENGINE_FILE, TOKEN_FILE]) rmSync(join(data_dir, stale), { force: true })
      const installation = new Installation(data_dir, lock, readOrMakeKey(join(data_dir, KEY_FILE)), isNew)
      installation.#dropOldResets()
      installation.#writeEngineFile(null)
      return installation
    } catch (error) {
      lock.release()
      throw startRefusal(error, data_dir)
    }
  }

  /** The account that was made during this start, to be shown once; null when there was one already. */
  get newAdmin(): AdminAccount | null {
    return this.#admin
  }

  get tokenFile(): string {
    return join(this.data_dir, TOKEN_FILE)
  }

  /** Makes up the first account. `store` hashes the password and keeps the account; nothing here keeps it. */
  async makeAdmin(store: (account: AdminAccount) => Promise<void>): Promise<void> {
    const characters = Array.from(
      { length: PASSWORD_CHARACTERS },
      () => PASSWORD_ALPHABET[randomInt(PASSWORD_ALPHABET.length)],
    )
    const admin = { name: ADMIN, password: characters.join('') }
    await store(admin)
    this.#admin = admin
  }

  /**
   * Keeps a reset token where only the user who runs the engine can read it, as long as the token lives; answers the path.
   * The user's name becomes no path.
   */
  keepReset(name: string, token: string): string {
    this.#dropOldResets()
    const digest = createHash('sha256').update(name).digest('hex').slice(0, 16)
    const path = join(this.data_dir, `reset-${digest}.json`)
    writePrivate(path, `${JSON.stringify({ user: name, token })}\n`)
    return path
  }

  /** Tells clients where the engine answers. */
  announce(url: string): void {
    // A file system that replaces a file waits for the disk (ext4 some 50 ms when it is busy); nobody misses the old one now.
    rmSync(join(this.data_dir, ENGINE_FILE), { force: true })
    this.#writeEngineFile(url)
  }

  /** Keeps the token file fresh: now, and again at three quarters of each token's life. `failed` hears of a renewal that did not work. */
  async keepToken(mint: () => Promise<MintedToken>, failed: (error: unknown) => void): Promise<void> {
    let renew_at_ms = 0
    this.#renewNow = () => {
      renew().catch(failed)
    }
    const renew = async (): Promise<void> => {
      renew_at_ms = Number.POSITIVE_INFINITY
      const { token, lifetime_s } = await mint()
      writePrivate(this.tokenFile, token)
      renew_at_ms = Date.now() + lifetime_s * 750
    }
    await renew()
    this.#renewal = setInterval(() => {
      this.#dropOldResets()
      if (Date.now() < renew_at_ms) return
      renew().catch(error => {
        renew_at_ms = 0
        failed(error)
      })
    }, TOKEN_CHECK_MS)
    this.#renewal.unref()
  }

  /** The token in the file has ended before its time. */
  renewToken(): void {
    this.#renewNow()
  }

  /** The engine begins to end: from here on nobody can tell from its files whether it was killed. */
  retire(): void {
    if (this.#isOurs()) this.#writeEngineFile(null)
  }

  /** The engine no longer answers: clients stop finding it, and another may start. */
  close(): void {
    if (this.#renewal !== null) clearInterval(this.#renewal)
    if (this.#isOurs()) rmSync(join(this.data_dir, ENGINE_FILE), { force: true })
    this.#lock.release()
  }

  /** Not when the directory was replaced under this engine, and another one serves what is there now. */
  #isOurs(): boolean {
    const file = readEngineFile(this.data_dir)
    return file?.pid === process.pid && file.started_at === this.#started_at
  }

  /** A reset whose token has ended is of no use to anybody. A file that cannot be removed stays until the next look. */
  #dropOldResets(): void {
    const ended_ms = Date.now() - limits.RESET_LIFETIME_S * 1000
    for (const name of readdirSync(this.data_dir)) {
      if (!RESET_FILE.test(name)) continue
      const path = join(this.data_dir, name)
      try {
        if (statSync(path).mtimeMs < ended_ms) rmSync(path, { force: true })
      } catch {}
    }
  }

  #writeEngineFile(url: string | null): void {
    const file: EngineFile = { url, pid: process.pid, started_at: this.#started_at, version: VERSION }
    writePrivate(join(this.data_dir, ENGINE_FILE), `${JSON.stringify(file)}\n`)
  }
}

function refuseOtherDatabase(options: InstallationOptions, database: string): void {
  const path = options.database_path
  if (path === null || resolve(options.cwd, path) === database || resolve('/', path) === database) return
  throw new ServiceError('wrong_database', `DATABASE_URL names ${path}; this installation keeps ${database}.`)
}

/**
 * A directory that is new, empty or already an installation becomes private and gets its ignore file. One that holds other
 * things is used as it is: hiding a user's own files from git, or from their group, is not ours to do.
 */
function prepareDirectory(place: Place): void {
  const { data_dir } = place
  try {
    mkdirSync(data_dir, { recursive: true, mode: 0o700 })
    const { uid } = statSync(data_dir)
    const isOwn = process.getuid === undefined || uid === process.getuid()
    if (place.by === 'found' && !isOwn) {
      throw new ServiceError(
        'bad_installation',
        `${data_dir} was found in a parent directory and belongs to another user.`,
      )
    }
    const entries = readdirSync(data_dir).filter(name => name !== 'lost+found')
    const isOurs = place.by === 'found' || entries.length === 0 || entries.includes(KEY_FILE)
    if (isOurs && isOwn) chmodSync(data_dir, 0o700)
    if (isOurs && !entries.includes(IGNORE_FILE)) writePrivate(join(data_dir, IGNORE_FILE), '*\n')
    if (!isOurs) process.umask(0o077)
  } catch (error) {
    throw startRefusal(error, data_dir)
  }
}

/** A damaged key is refused and never replaced: what was encrypted or signed under it would be lost. */
export function readOrMakeKey(path: string): string {
  if (!existsSync(path)) {
    const { privateKey } = generateKeyPairSync('ed25519')
    writePrivate(path, privateKey.export({ type: 'pkcs8', format: 'pem' }), { durable: true })
  }
  // Behind it stand keys of secrets.
  const [pem = ''] = /^[\s\S]*?-----END PRIVATE KEY-----\n?/.exec(readFileSync(path, 'utf8')) ?? []
  if (!isPrivateKey(pem)) throw new ServiceError('bad_installation', `The signing key ${path} is damaged.`)
  chmodSync(path, 0o600)
  return pem
}

/**
 * The key is made after the database, so a key without one says that there was one: an empty database in its place would hide that
 * everything is gone.
 */
function prepareDatabase(data_dir: string, isNew: boolean): void {
  const path = join(data_dir, DATABASE_FILE)
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? null
  if (isNew) {
    if (size === null || size === 0) createDatabase(path)
    return
  }
  if (size === null || size === 0) {
    const what = size === null ? 'is not there' : 'is empty'
    throw new ServiceError(
      'database_missing',
      `${path} ${what}, but ${KEY_FILE} beside it shows that there was a database.`,
    )
  }
  // An engine that answered has committed, and only one that ended in order takes SQLite's log away.
  const wasKilled = (readEngineFile(data_dir)?.url ?? null) !== null
  if (!wasKilled || existsSync(join(data_dir, WAL_FILE))) return
  throw new ServiceError(
    'bad_database',
    `${join(data_dir, WAL_FILE)} is missing, and the engine did not stop cleanly, so its last commits are in that file. Put the file back. To continue without those commits, remove ${ENGINE_FILE}.`,
  )
}

/** Another key would end every token and link without a word, and cannot open what the missing one closed. */
const keyMissing = (path: string): ServiceError =>
  new ServiceError(
    'bad_installation',
    `The signing key ${path} is missing, and the database beside it holds users. Put the key back from a backup. Without a backup, ` +
      `"openssl genpkey -algorithm ed25519 -out ${path}" creates a new key; all tokens and reset links then end.`,
  )

function readEngineFile(data_dir: string): EngineFile | null {
  try {
    return JSON.parse(readFileSync(join(data_dir, ENGINE_FILE), 'utf8')) as EngineFile
  } catch {
    return null
  }
}

export function secondEngine(data_dir: string): ServiceError {
  const first = readEngineFile(data_dir)
  if (first === null) return new ServiceError('second_engine', `Another process holds ${data_dir}.`)
  const where = first.url === null ? 'is starting or stopping on' : `answers at ${first.url} for`
  return new ServiceError('second_engine', `Process ${first.pid} ${where} ${data_dir}.`)
}
