import { connect } from 'node:net'
import { limits } from '../../protocol/limits.ts'
import type { MailServer } from '../config.ts'

export interface Mail {
  /** A mail address, checked. */
  readonly to: string
  readonly subject: string
  readonly text: string
}

const library = (): Promise<typeof import('nodemailer')> => import('nodemailer')

const LOOPBACK = /^(?:localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|::1)$/

/**
 * Sends mails, each over a connection of its own that is ended after `limits.MAIL_MS`, whatever the server does: the time-outs of the library
 * begin again with each line that a server sends, and closing its transport leaves the connection open. So the socket is made here.
 */
export class Mailer {
  readonly #server: MailServer
  readonly #deadline_ms: number
  readonly #ends = new Set<AbortController>()
  readonly #under_way = new Set<Promise<unknown>>()
  #closed = false

  constructor(server: MailServer, deadline_ms: number = limits.MAIL_MS) {
    this.#server = server
    this.#deadline_ms = deadline_ms
  }

  /** Loads the library, which holds the thread for a tenth of a second: before the engine serves, so that the first mail does not. */
  static async open(server: MailServer): Promise<Mailer> {
    await library()
    return new Mailer(server)
  }

  get underWay(): number {
    return this.#under_way.size
  }

  /** Resolves when the server has accepted it. Rejects with why not; the reason holds nothing of the mail. */
  async send(mail: Mail): Promise<void> {
    if (this.#closed) throw new Error('the engine stops')
    if (this.#under_way.size >= limits.MAILS_AT_ONCE) throw new Error('too many mails are being sent at once')
    const sending = this.#send(mail)
    this.#under_way.add(sending)
    try {
      await sending
    } finally {
      this.#under_way.delete(sending)
    }
  }

  /** Ends what is under way. */
  async close(): Promise<void> {
    this.#closed = true
    for (const end of this.#ends) end.abort(new Error('the engine stops'))
    await Promise.allSettled(this.#under_way)
  }

  async #send(mail: Mail): Promise<void> {
    const end = new AbortController()
    this.#ends.add(end)
    const late = new Error(`the mail server took more than ${this.#deadline_ms / 1000} s`)
    const deadline = setTimeout(() => end.abort(late), this.#deadline_ms)
    const { promise: ended, reject } = Promise.withResolvers<never>()
    end.signal.addEventListener('abort', () => reject(end.signal.reason))
    try {
      await Promise.race([this.#hand(mail, end.signal), ended])
    } catch (error) {
      throw new Error(reasonOf(error))
    } finally {
      clearTimeout(deadline)
      this.#ends.delete(end)
      end.abort(late)
    }
  }

  async #hand({ to, subject, text }: Mail, signal: AbortSignal): Promise<void> {
    const { host, port, secure, user, password, from } = this.#server
    const { createTransport } = await library()
    signal.throwIfAborted()
    const transport = createTransport({
      host,
      port,
      secure,
      ...(user === '' ? {} : { auth: { user, pass: password } }),
      // Credentials and links go over the network encrypted, or not at all.
      requireTLS: !LOOPBACK.test(host),
      greetingTimeout: limits.MAIL_GREETING_MS,
      socketTimeout: limits.MAIL_SILENT_MS,
      disableFileAccess: true,
      disableUrlAccess: true,
      getSocket: (_options, done) => {
        const socket = connect({ host, port, signal })
        const slow = setTimeout(() => socket.destroy(new Error('it does not connect')), limits.MAIL_CONNECT_MS)
        // Later failures are the library's.
        const failed = (error: Error): void => {
          clearTimeout(slow)
          done(error)
        }
        socket.once('error', failed)
        socket.once('connect', () => {
          clearTimeout(slow)
          socket.off('error', failed)
          socket.on('error', () => {})
          done(null, { connection: socket })
        })
      },
    })
    await transport.sendMail({ from, to, subject, text })
  }
}

/** Of an answer of the server only its number: what a server repeats of a mail gets into no log. */
function reasonOf(error: unknown): string {
  const { code, responseCode, message } = error as { code?: unknown; responseCode?: unknown; message?: unknown }
  if (typeof responseCode === 'number') return `the mail server answered ${responseCode}`
  return typeof code === 'string' && code !== 'ABORT_ERR' ? `the mail server cannot be used (${code})` : String(message)
}
