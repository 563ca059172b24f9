import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'

export interface KeptLogin {
  readonly url: string
  readonly token: string
  /** RFC 3339. */
  readonly expires_at: string
}

/** The logins of `svc login`, newest first, in `$XDG_CONFIG_HOME/svc/logins.json` (mode 600). One token per address. */
export class KeptLogins {
  readonly path: string

  constructor(environment: Readonly<Record<string, string | undefined>>) {
    const given = environment['XDG_CONFIG_HOME']
    const base = given !== undefined && isAbsolute(given) ? given : join(homedir(), '.config')
    this.path = join(base, 'svc', 'logins.json')
  }

  list(): KeptLogin[] {
    try {
      const kept: unknown = JSON.parse(readFileSync(this.path, 'utf8'))
      return Array.isArray(kept) ? kept.filter(isLogin) : []
    } catch {
      return []
    }
  }

  find(url: string): KeptLogin | undefined {
    return this.list().find(login => login.url === url)
  }

  keep(login: KeptLogin): void {
    this.#write([login, ...this.#others(login.url)])
  }

  /** Removes the login of an address. */
  forget(url: string): void {
    this.#write(this.#others(url))
  }

  #others(url: string): KeptLogin[] {
    return this.list().filter(login => login.url !== url)
  }

  #write(logins: readonly KeptLogin[]): void {
    const directory = join(this.path, '..')
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    chmodSync(directory, 0o700)
    const temporary = `${this.path}.${process.pid}`
    rmSync(temporary, { force: true })
    writeFileSync(temporary, `${JSON.stringify(logins, null, 2)}\n`, { mode: 0o600, flag: 'wx' })
    renameSync(temporary, this.path)
  }
}

const isLogin = (value: unknown): value is KeptLogin =>
  typeof value === 'object' &&
  value !== null &&
  ['url', 'token', 'expires_at'].every(key => typeof (value as Record<string, unknown>)[key] === 'string')
