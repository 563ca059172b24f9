import { limits } from '../../protocol/limits.ts'
import { Attempts } from '../auth/attempts.ts'
import type { Log } from '../observe/serve-log.ts'
import type { Mailer } from './mailer.ts'

/** Whose password is to be set. */
export interface ResetFor {
  readonly name: string
  readonly display_name: string | null
  readonly mail: string | null
}

export interface ResetLinksParts {
  /** Null: no mail server is configured. */
  readonly mailer: Pick<Mailer, 'send'> | null
  /** The address of the engine for browsers. */
  readonly public_url: string | null
  /** Keeps the token in a file for whoever runs the engine, and answers its path. */
  readonly keep: (name: string, token: string) => string
  readonly log: Log
  /** A clock that never jumps, in milliseconds. */
  readonly now: () => number
}

/**
 * Brings reset tokens to their users: by mail, or, for users without an address and where no mail can be sent, in a file beside the log,
 * never in it. So many mails go to one user in a while, whoever asks for them.
 */
export class ResetLinks {
  readonly #parts: ResetLinksParts
  readonly #sent: Attempts

  constructor(parts: ResetLinksParts) {
    this.#parts = parts
    const bounds = { failures: limits.RESET_MAILS, window_ms: limits.RESET_MAILS_WINDOW_MS }
    this.#sent = new Attempts({ ...bounds, buckets: limits.USERS, whom: 'one user', what: 'mails' }, parts.now)
  }

  /** Resolves when it is done; reports its own failures. */
  async deliver(to: ResetFor, token: string): Promise<void> {
    const { mailer, public_url, log } = this.#parts
    const { name: user, mail } = to
    if (mailer === null || public_url === null || mail === null) return this.#write(user, token)
    try {
      this.#sent.begin(user)
    } catch {
      log.warn('reset_not_sent', { user, reason: `${limits.RESET_MAILS} mails went out lately` })
      return
    }
    this.#sent.failed(user)
    try {
      await mailer.send({ to: mail, ...letter(to, token, public_url) })
      log.info('reset_sent', { user })
    } catch (error) {
      log.warn('reset_not_sent', { user, reason: (error as Error).message })
      this.#write(user, token)
    }
  }

  #write(user: string, token: string): void {
    const { keep, log } = this.#parts
    try {
      log.info('reset_written', { user, path: keep(user, token) })
    } catch (error) {
      log.error('reset_not_written', { user, error })
    }
  }
}

/** What stands behind `#` is sent to no server, and ends in no log of one. */
function letter({ name, display_name }: ResetFor, token: string, public_url: string) {
  const text = `Hello ${display_name ?? name},

somebody asked for a new password for the user "${name}" at ${public_url}.
To set one, open this link:

${public_url}/app/reset#token=${token}

Or run this command:

svc --url ${public_url} users reset ${token}

Both work once, for ${limits.RESET_LIFETIME_S / 3600} hours, as long as the password is not changed in between.
If it was not you who asked, there is nothing to do.
`
  return { subject: 'Set a new password', text }
}
