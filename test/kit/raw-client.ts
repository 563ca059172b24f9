import { connect, type Socket } from 'node:net'

/** What came back on a raw connection. */
export interface RawReply {
  readonly text: string
  /** Status codes, in order. */
  readonly statuses: number[]
  readonly closed: boolean
}

/** A bound on waiting, far above what a working front takes. */
const PATIENCE_MS = 20_000

/** A TCP connection that says exactly what a test wants said. Latin-1 in both directions, so that every byte can be written. */
export class RawClient {
  readonly #socket: Socket
  #text = ''
  #closed = false
  readonly #waiters = new Set<() => void>()

  private constructor(socket: Socket) {
    this.#socket = socket
    const wake = (): void => {
      for (const waiter of [...this.#waiters]) waiter()
    }
    socket.setNoDelay(true)
    socket.on('data', bytes => {
      this.#text += bytes.toString('latin1')
      wake()
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      this.#closed = true
      wake()
    })
  }

  static open(port: number): Promise<RawClient> {
    return new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1', () => resolve(new RawClient(socket)))
      socket.once('error', reject)
    })
  }

  write(text: string | Buffer): this {
    this.#socket.write(typeof text === 'string' ? Buffer.from(text, 'latin1') : text)
    return this
  }

  /** Bytes that were written here and that the other side's buffers have not taken. */
  get unsent(): number {
    return this.#socket.writableLength
  }

  /** Reads nothing until `resume`: what comes stays in the socket, and when that is full with the sender. */
  pause(): this {
    this.#socket.pause()
    return this
  }

  resume(): this {
    this.#socket.resume()
    return this
  }

  get reply(): RawReply {
    return { text: this.#text, statuses: statusesOf(this.#text), closed: this.#closed }
  }

  /** Resolves when the condition holds; rejects with what came when it does not in time. */
  until(condition: (reply: RawReply) => boolean): Promise<RawReply> {
    return new Promise((resolve, reject) => {
      const give_up = setTimeout(() => {
        this.#waiters.delete(look)
        reject(new RangeError(`waited in vain; got ${JSON.stringify(this.reply)}`))
      }, PATIENCE_MS)
      const look = (): void => {
        if (!condition(this.reply)) return
        clearTimeout(give_up)
        this.#waiters.delete(look)
        resolve(this.reply)
      }
      this.#waiters.add(look)
      look()
    })
  }

  closed(): Promise<RawReply> {
    return this.until(reply => reply.closed)
  }

  answered(count = 1): Promise<RawReply> {
    return this.until(reply => reply.statuses.length >= count || reply.closed)
  }

  end(): void {
    this.#socket.destroy()
  }

  /** Sends a reset instead of an orderly end. */
  reset(): void {
    this.#socket.resetAndDestroy()
  }
}

const statusesOf = (text: string): number[] => [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(match => Number(match[1]))

/** One connection, one text, everything that came back once it was answered or closed. */
export async function saying(port: number, text: string, answers = 1): Promise<RawReply> {
  const client = await RawClient.open(port)
  try {
    return await client.write(text).answered(answers)
  } finally {
    client.end()
  }
}
