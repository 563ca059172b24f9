/**
 * The load of `artifacts`: connections that ask for ranges of one file, each for the next one when it has the last.
 *   pass(RangeLoad) -> {per_s}
 */
import { connect, type Socket } from 'node:net'
import { answer } from '../../partner.ts'

export interface RangeLoad {
  port: number
  path: string
  /** Empty: none is sent. */
  token: string
  clients: number
  seconds: number
  /** Of the file, in bytes. */
  size: number
  /** Of a range. */
  bytes: number
}

answer({
  async pass(load: RangeLoad): Promise<{ per_s: number }> {
    const clients = await Promise.all(
      Array.from({ length: load.clients }, (_, seed) => RangeClient.open(load, seed + 1)),
    )
    const began_ms = performance.now()
    const until_ms = began_ms + load.seconds * 1000
    const done = await Promise.all(clients.map(client => client.run(until_ms)))
    return { per_s: done.reduce((sum, count) => sum + count, 0) / ((performance.now() - began_ms) / 1000) }
  },
})

class RangeClient {
  readonly #load: RangeLoad
  readonly #socket: Socket
  #state: number

  static open(load: RangeLoad, seed: number): Promise<RangeClient> {
    return new Promise((resolve, reject) => {
      const socket = connect(load.port, '127.0.0.1', () => resolve(new RangeClient(load, socket, seed)))
      socket.once('error', reject)
    })
  }

  private constructor(load: RangeLoad, socket: Socket, seed: number) {
    this.#load = load
    this.#socket = socket
    this.#state = seed * 2_654_435_761
  }

  /** Ranges that came whole. */
  run(until_ms: number): Promise<number> {
    const { bytes } = this.#load
    return new Promise((resolve, reject) => {
      let ranges = 0
      let head = ''
      let left = -1
      this.#socket.on('data', part => {
        let at = 0
        if (left < 0) {
          head += part.toString('latin1')
          const end = head.indexOf('\r\n\r\n')
          if (end < 0) return
          if (!head.startsWith('HTTP/1.1 206') || !new RegExp(`content-length: ${bytes}\r\n`, 'i').test(head))
            return reject(new RangeError(`answered ${head.slice(0, end)}`))
          at = part.length - (head.length - end - 4)
          left = bytes
          head = ''
        }
        left -= part.length - at
        if (left > 0) return
        ranges++
        left = -1
        if (performance.now() < until_ms) this.#ask()
        else {
          this.#socket.destroy()
          resolve(ranges)
        }
      })
      this.#socket.on('error', reject)
      this.#ask()
    })
  }

  #ask(): void {
    const { path, token, size, bytes } = this.#load
    this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) >>> 0
    const from = Math.floor((this.#state / 2 ** 32) * (size / bytes)) * bytes
    const authorization = token === '' ? '' : `Authorization: Bearer ${token}\r\n`
    this.#socket.write(
      `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${authorization}Range: bytes=${from}-${from + bytes - 1}\r\n\r\n`,
    )
  }
}
