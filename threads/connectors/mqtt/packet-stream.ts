import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import {
  type Acknowledged,
  type Acknowledgement,
  KIND,
  MalformedPacket,
  PacketCutter,
  PacketWriter,
  type PublishPacket,
  type Qos,
  readAcknowledgement,
  readPublish,
} from './packets.ts'

/** What is made of the messages of one connection. */
export interface PacketUser {
  /** Once, when the broker has taken the connection; messages may follow at once. */
  begun(has_session: boolean): void
  /** `take` brings everything that has come together, in order. */
  together(take: () => void): void
  message(packet: PublishPacket): void
  acknowledged(kind: Acknowledgement, acknowledged: Acknowledged): void
  /** There is room for more: see `isFull`. */
  drained(): void
}

/** What may wait to be written before it is handed to the socket. */
const BLOCK_BYTES = 64 * 1024

/**
 * Lies between the socket and the library. Messages and their acknowledgements are read and written here, many in one go, and are never seen by the
 * library: it would take the next packet only when one is acknowledged. All other packets pass through: to the library this is the socket.
 *
 *   broker --bytes--> PacketCutter --PUBLISH, PUBACK, PUBREC, PUBREL, PUBCOMP--> user --> PacketWriter --> broker
 *                                  --CONNACK, SUBACK, PINGRESP ...--> library --CONNECT, SUBSCRIBE, PINGREQ ...--> broker
 */
export class PacketStream extends Duplex {
  readonly #socket: Socket
  readonly #user: PacketUser
  readonly #is5: boolean
  readonly #cutter = new PacketCutter()
  readonly #writer: PacketWriter
  #flushing = false
  #hasAnswered = false

  /** `failed`: told why, when the broker sends what is no MQTT. */
  constructor(
    socket: Socket,
    is5: boolean,
    opening: (stream: PacketStream) => PacketUser,
    failed: (error: Error) => void,
  ) {
    super()
    this.#socket = socket
    this.#is5 = is5
    this.#writer = new PacketWriter(is5)
    this.#user = opening(this)
    socket.on('data', (piece: Buffer) => {
      try {
        this.#checkFirst(piece)
        this.#user.together(() =>
          this.#cutter.push(piece, (bytes, from, body, end) => this.#packet(bytes, from, body, end)),
        )
      } catch (error) {
        if (!(error instanceof MalformedPacket)) throw error
        failed(error)
        this.destroy()
      }
    })
    socket.on('drain', () => this.#user.drained())
    socket.on('close', () => this.destroy())
  }

  /** What is written now goes out when the step of the event loop is over, all at once. */
  publish(topic: string, payload: string | Buffer, qos: Qos, retain: boolean, id: number): void {
    this.#writer.publish(topic, payload, qos, retain, id)
    if (this.#writer.length >= BLOCK_BYTES) this.#flush()
    else this.#flushSoon()
  }

  acknowledge(kind: Acknowledgement, id: number): void {
    this.#writer.acknowledge(kind, id)
    this.#flushSoon()
  }

  /** The socket takes no more for now. */
  get isFull(): boolean {
    return this.#socket.writableNeedDrain
  }

  /** Nothing is read until `release`: the broker is held back, whatever it has to say. */
  hold(): void {
    this.#socket.pause()
  }

  release(): void {
    this.#socket.resume()
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#flush()
    this.#socket.write(chunk, done)
  }

  /** The library writes a packet in pieces. */
  override _writev(chunks: { chunk: Buffer }[], done: (error?: Error | null) => void): void {
    this._write(Buffer.concat(chunks.map(({ chunk }) => chunk)), 'utf8', done)
  }

  override _final(done: () => void): void {
    this.#flush()
    this.#socket.end()
    done()
  }

  override _destroy(_error: Error | null, done: (error?: Error | null) => void): void {
    this.#socket.destroy()
    done()
  }

  /** Another protocol may look like the start of a packet that never ends. */
  #checkFirst(piece: Buffer): void {
    if (this.#hasAnswered) return
    this.#hasAnswered = true
    const kind = piece[0]! >> 4
    if (kind !== KIND.connack && kind !== KIND.auth) throw new MalformedPacket('what it answers is no MQTT')
  }

  #packet(bytes: Buffer, from: number, body: number, end: number): void {
    const kind = bytes[from]! >> 4
    switch (kind) {
      case KIND.publish:
        this.#user.message(readPublish(bytes, from, body, end, this.#is5))
        break
      case KIND.puback:
      case KIND.pubrec:
      case KIND.pubrel:
      case KIND.pubcomp:
        this.#user.acknowledged(kind, readAcknowledgement(bytes, body, end))
        break
      default:
        // Only with the reason 0 the broker has taken the connection.
        if (kind === KIND.connack && bytes[body + 1] === 0) this.#user.begun((bytes[body]! & 1) !== 0)
        this.push(bytes.subarray(from, end))
    }
  }

  #flushSoon(): void {
    if (this.#flushing) return
    this.#flushing = true
    queueMicrotask(() => {
      this.#flushing = false
      this.#flush()
    })
  }

  #flush(): void {
    if (this.#writer.length > 0) this.#socket.write(this.#writer.take())
  }
}
