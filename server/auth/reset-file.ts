import { readFileSync } from 'node:fs'
import { limits } from '../../protocol/limits.ts'
import { formatTime } from '../../protocol/time.ts'
import { writePrivate } from '../private-file.ts'
import type { Log } from '../serve-log.ts'

interface Line {
  readonly user: string
  readonly token: string
  readonly expires_at: string
  readonly expires_ms: number
}

/**
 * Where reset tokens go while no mail server is set up: a file of mode 600 in the data directory, one JSON line a user, read by
 * whoever runs the engine. It holds at most `limits.RESETS_KEPT` users, the newest token of each, none that has expired.
 * `serve.log` says that somebody asked, and never the token.
 */
export class ResetFile {
  readonly #path: string
  readonly #log: Log
  readonly #now: () => number

  /** The clock is in milliseconds since 1970. */
  constructor(path: string, log: Log, now: () => number) {
    this.#path = path
    this.#log = log
    this.#now = now
  }

  readonly deliver = (user: string, token: string): void => {
    try {
      const now = this.#now()
      const expires_ms = now + limits.RESET_LIFETIME_S * 1000
      const kept = this.#read().filter(line => line.user !== user && line.expires_ms > now)
      const lines = [...kept, { user, token, expires_at: formatTime(expires_ms * 1000), expires_ms }]
      writePrivate(
        this.#path,
        lines
          .slice(-limits.RESETS_KEPT)
          .map(line => `${JSON.stringify(line)}\n`)
          .join(''),
      )
      this.#log.info('password_reset_asked', { user, file: this.#path })
    } catch (error) {
      this.#log.error('password_reset_not_written', { user, error })
    }
  }

  #read(): Line[] {
    try {
      return readFileSync(this.#path, 'utf8')
        .split('\n')
        .filter(text => text !== '')
        .map(text => JSON.parse(text) as Line)
    } catch {
      return []
    }
  }
}
