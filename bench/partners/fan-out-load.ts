/**
 * The clients of `fan-out`: bare TCP sockets that speak as much of the websocket protocol as it takes to count frames, so
 * that a process full of them costs as little as can be beside the server under load.
 *   open(FanOutClients) -> null     once every one of them is subscribed
 *   count({frames}) -> {frames, last_us}   once the reading ones have so many frames since the last `count`, or no more come
 *   close() -> null
 */
import { randomBytes } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { answer } from '../partner.ts'

export interface FanOutClients {
  port: number
  path: string
  protocol: string
  reading: number
  /** Opened after the reading ones; they read nothing once they are subscribed. */
  stalled: number
  /** Sent by each after it is open; the next frame that comes is its answer. */
  first: string
}

/** When nothing has come for so long, nothing more will. */
const QUIET_MS = 2_000
const READ_BYTES = 64 * 1024

const now_us = (): number => Number(process.hrtime.bigint()) / 1000

let frames = 0
let last_us = 0
let onFrames: () => void = () => {}
const clients: Client[] = []

class Client {
  readonly #socket: Socket
  /** Bytes of the current frame's payload that have not come yet. */
  #left = 0
  /** The start of a frame header that a read has cut. */
  #cut = Buffer.alloc(0)
  #isOpen = false
  #isClosing = false
  #head = ''
  #answered: (() => void) | null = null

  constructor(options: FanOutClients, done: () => void) {
    const buffer = Buffer.alloc(READ_BYTES)
    this.#answered = done
    this.#socket = connect({
      port: options.port,
      host: '127.0.0.1',
      onread: {
        buffer,
        callback: bytes => {
          if (this.#isOpen) this.#read(buffer, bytes)
          else this.#shakeHands(buffer.subarray(0, bytes), options.first)
          return true
        },
      },
    })
    this.#socket.on('error', error => {
      if (!this.#isClosing) throw new RangeError(`a client lost its connection: ${error.message}`)
    })
    this.#socket.write(
      `GET ${options.path} HTTP/1.1\r\nHost: 127.0.0.1:${options.port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
        `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${randomBytes(16).toString('base64')}\r\n` +
        `Sec-WebSocket-Protocol: ${options.protocol}\r\n\r\n`,
    )
  }

  stall(): void {
    this.#socket.pause()
  }

  close(): void {
    this.#isClosing = true
    this.#socket.destroy()
  }

  #shakeHands(bytes: Buffer, first: string): void {
    this.#head += bytes.toString('latin1')
    const end = this.#head.indexOf('\r\n\r\n')
    if (end === -1) return
    if (!this.#head.startsWith('HTTP/1.1 101')) throw new RangeError(this.#head.slice(0, end))
    this.#isOpen = true
    this.#socket.write(maskedText(first))
    const rest = Buffer.from(this.#head.slice(end + 4), 'latin1')
    if (rest.length > 0) this.#read(rest, rest.length)
  }

  #read(buffer: Buffer, length: number): void {
    if (this.#cut.length > 0) {
      buffer = Buffer.concat([this.#cut, buffer.subarray(0, length)])
      length = buffer.length
      this.#cut = Buffer.alloc(0)
    }
    let at = 0
    let count = 0
    while (at < length) {
      if (this.#left > 0) {
        const step = Math.min(this.#left, length - at)
        this.#left -= step
        at += step
        if (this.#left === 0) count++
        continue
      }
      const short = length - at < 2 ? 127 : buffer[at + 1]! & 127
      const header = short < 126 ? 2 : short === 126 ? 4 : 10
      if (length - at < header) {
        this.#cut = Buffer.from(buffer.subarray(at, length))
        break
      }
      this.#left =
        short < 126 ? short : short === 126 ? buffer.readUInt16BE(at + 2) : Number(buffer.readBigUInt64BE(at + 2))
      at += header
    }
    if (count === 0) return
    if (this.#answered !== null) {
      this.#answered()
      this.#answered = null
      count--
    }
    frames += count
    last_us = now_us()
    onFrames()
  }
}

function maskedText(text: string): Buffer {
  const payload = Buffer.from(text)
  if (payload.length > 125) throw new RangeError('the first frame is short')
  // A mask of zeros leaves the payload as it is.
  return Buffer.concat([Buffer.from([0x81, 0x80 | payload.length, 0, 0, 0, 0]), payload])
}

async function open(options: FanOutClients): Promise<null> {
  const make = async (count: number): Promise<Client[]> => {
    const made: Client[] = []
    // In portions: a listening socket has a backlog of pending connections.
    while (made.length < count) {
      const portion = Array.from({ length: Math.min(50, count - made.length) }, () => {
        const { promise, resolve } = Promise.withResolvers<void>()
        made.push(new Client(options, resolve))
        return promise
      })
      await Promise.all(portion)
    }
    return made
  }
  clients.push(...(await make(options.reading)))
  const stalled = await make(options.stalled)
  for (const client of stalled) client.stall()
  clients.push(...stalled)
  frames = 0
  return null
}

function count({ frames: wanted }: { frames: number }): Promise<{ frames: number; last_us: number }> {
  return new Promise(resolve => {
    let seen = -1
    const finish = (): void => {
      clearInterval(timer)
      onFrames = () => {}
      const answer = { frames, last_us }
      frames = 0
      resolve(answer)
    }
    const timer = setInterval(() => {
      if (frames === seen) finish()
      seen = frames
    }, QUIET_MS)
    onFrames = () => {
      if (frames >= wanted) finish()
    }
    onFrames()
  })
}

answer({
  open,
  count,
  close: () => {
    for (const client of clients.splice(0)) client.close()
    return null
  },
})
