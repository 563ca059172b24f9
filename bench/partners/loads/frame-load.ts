/**
 * The clients of `fan-out`, `media` and `panels`: bare TCP sockets that speak as much of the websocket protocol as it takes to count frames, so that a
 * process full of them costs as little as can be beside the server under load. Of binary frames they read when each was published.
 *   open(FrameClients) -> null      once every one of them has its first answer
 *   count({frames}) -> {frames, last_us}   once the reading ones have so many frames since the last `count`, or no more come
 *   start() -> null                 binary frames count from here on
 *   seen() -> MediaSeen             since `start`
 *   close() -> null
 */
import { randomBytes } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { unpackPlain } from '../../../clients/client/live/msgpack.ts'
import { answer } from '../../partner.ts'

export interface FrameClients {
  port: number
  path: string
  protocol: string
  reading: number
  /** Opened after the reading ones; they read nothing once they are open. */
  stalled: number
  /** Sent by each after it is open; the next frame that comes is its answer. */
  first: string
  /** Of one read, at most. */
  read_bytes: number
  /** Where clients differ: in place of `protocol` and `first`, by client. */
  each?: readonly { protocol: string; first: string }[]
}
export interface MediaSeen {
  /** Binary ones, of all reading clients. */
  frames: number
  bytes: number
  seconds: number
  /** Milliseconds from the publish of the reference to the last byte of the frame, of each frame, sorted. */
  late_ms: number[]
}

/** When nothing has come for so long, nothing more will. */
const QUIET_MS = 2_000
/** Connections that are opened at once: a listening socket has a backlog of pending ones. */
const OPENED_AT_ONCE = 50
const HEAD_BYTES = 512
const BINARY = 2
const now_us = (): number => Number(process.hrtime.bigint()) / 1000

const seen = { frames: 0, bytes: 0, since_us: 0, late_ms: [] as number[] }
/** Frames of any kind after the first answers, and when the last of them came. */
const counted = { frames: 0, last_us: 0 }
let onFrames: () => void = () => {}
const clients: Client[] = []

class Client {
  readonly #socket: Socket
  #left = 0
  #isBinary = false
  /** The first bytes of the payload. */
  readonly #head = Buffer.alloc(HEAD_BYTES)
  #headed = 0
  #cut = Buffer.alloc(0)
  #isOpen = false
  #isClosing = false
  #hands = ''
  #answered: (() => void) | null

  constructor(options: FrameClients, done: () => void) {
    const buffer = Buffer.alloc(options.read_bytes)
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
    this.#hands += bytes.toString('latin1')
    const end = this.#hands.indexOf('\r\n\r\n')
    if (end === -1) return
    if (!this.#hands.startsWith('HTTP/1.1 101')) throw new RangeError(this.#hands.slice(0, end))
    this.#isOpen = true
    this.#socket.write(maskedText(first))
    const rest = Buffer.from(this.#hands.slice(end + 4), 'latin1')
    if (rest.length > 0) this.#read(rest, rest.length)
  }

  #read(buffer: Buffer, length: number): void {
    if (this.#cut.length > 0) {
      buffer = Buffer.concat([this.#cut, buffer.subarray(0, length)])
      length = buffer.length
      this.#cut = Buffer.alloc(0)
    }
    let ended = 0
    for (let at = 0; at < length; ) {
      if (this.#left > 0) {
        const step = Math.min(this.#left, length - at)
        if (this.#isBinary) {
          seen.bytes += step
          if (this.#headed < HEAD_BYTES)
            this.#headed += buffer.copy(
              this.#head,
              this.#headed,
              at,
              Math.min(at + step, at + HEAD_BYTES - this.#headed),
            )
        }
        this.#left -= step
        at += step
        if (this.#left > 0) continue
        ended++
        if (this.#isBinary) this.#seen()
        continue
      }
      const short = length - at < 2 ? 127 : buffer[at + 1]! & 127
      const header = short < 126 ? 2 : short === 126 ? 4 : 10
      if (length - at < header) {
        this.#cut = Buffer.from(buffer.subarray(at, length))
        break
      }
      this.#isBinary = (buffer[at]! & 15) === BINARY
      this.#headed = 0
      this.#left =
        short < 126 ? short : short === 126 ? buffer.readUInt16BE(at + 2) : Number(buffer.readBigUInt64BE(at + 2))
      at += header
    }
    if (ended > 0) this.#count(ended)
  }

  #count(ended: number): void {
    if (this.#answered !== null) {
      this.#answered()
      this.#answered = null
      ended--
    }
    counted.frames += ended
    counted.last_us = now_us()
    onFrames()
  }

  #seen(): void {
    const { meta } = unpackPlain(this.#head.subarray(4, 4 + this.#head.readUInt32BE())) as { meta: { us: number } }
    // What was published before the count began belongs to nobody.
    if (meta.us < seen.since_us) return
    seen.frames++
    seen.late_ms.push((now_us() - meta.us) / 1000)
  }
}

function maskedText(text: string): Buffer {
  const payload = Buffer.from(text)
  const { length } = payload
  if (length > 0xffff) throw new RangeError('the first frame is short')
  const head = length < 126 ? [0x81, 0x80 | length] : [0x81, 0x80 | 126, length >> 8, length & 255]
  // A mask of zeros leaves the payload as it is.
  return Buffer.concat([Buffer.from([...head, 0, 0, 0, 0]), payload])
}

async function open(options: FrameClients): Promise<null> {
  let opened = 0
  const make = async (count: number): Promise<Client[]> => {
    const made: Client[] = []
    while (made.length < count) {
      const portion = Array.from({ length: Math.min(OPENED_AT_ONCE, count - made.length) }, () => {
        const { promise, resolve } = Promise.withResolvers<void>()
        made.push(new Client({ ...options, ...options.each?.[opened++] }, resolve))
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
  counted.frames = 0
  return null
}

function count({ frames: wanted }: { frames: number }): Promise<{ frames: number; last_us: number }> {
  return new Promise(resolve => {
    let before = -1
    const finish = (): void => {
      clearInterval(timer)
      onFrames = () => {}
      const answer = { ...counted }
      counted.frames = 0
      resolve(answer)
    }
    const timer = setInterval(() => {
      if (counted.frames === before) finish()
      before = counted.frames
    }, QUIET_MS)
    onFrames = () => {
      if (counted.frames >= wanted) finish()
    }
    onFrames()
  })
}

answer({
  open,
  count,
  start: () => {
    Object.assign(seen, { frames: 0, bytes: 0, since_us: now_us(), late_ms: [] })
    return null
  },
  seen: (): MediaSeen => {
    const { frames, bytes, since_us, late_ms } = seen
    return { frames, bytes, seconds: (now_us() - since_us) / 1e6, late_ms: late_ms.sort((a, b) => a - b) }
  },
  close: () => {
    for (const client of clients.splice(0)) client.close()
    return null
  },
})
