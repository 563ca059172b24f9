/**
 * Publishes messages of 100 bytes to a broker and takes what comes back. At most `window` messages are on their way; what does not come
 * back within a second of silence is lost.
 *   opened({port, to, from, qos}) -> {}    when the loop brings messages back
 *   send({port, to, from, qos, window, seconds}) -> {sent, came, seconds}
 */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { answer } from '../../partner.ts'
import { idOf, Packets, PUBLISH, Publishes, packet, SUBACK, text } from '../mqtt-bytes.ts'

export interface MqttLoop {
  readonly port: number
  readonly to: string
  readonly from: string
  readonly qos: 0 | 1
}

export interface MqttSeen {
  readonly sent: number
  readonly came: number
  readonly seconds: number
}

const SILENCE_MS = 1_000

answer({
  /** Until the first message is back: the loop may not have subscribed yet. */
  async opened(loop: MqttLoop) {
    const connection = await Connection.open(loop)
    while (connection.came === 0) {
      connection.send(1)
      await sleep(20)
    }
    await sleep(SILENCE_MS)
    connection.close()
    return {}
  },

  async send({ window, seconds, ...loop }: MqttLoop & { window: number; seconds: number }) {
    const connection = await Connection.open(loop)
    const began_ms = performance.now()
    const until_ms = began_ms + seconds * 1000
    connection.onCame = count => {
      if (performance.now() < until_ms) connection.send(count)
    }
    connection.send(window)
    let came = 0
    let seen_ms = performance.now()
    while (connection.came < connection.sent) {
      await sleep(5)
      const now_ms = performance.now()
      if (connection.came > came) {
        came = connection.came
        seen_ms = now_ms
      } else if (now_ms > seen_ms + SILENCE_MS) break
    }
    connection.close()
    return { sent: connection.sent, came: connection.came, seconds: (connection.last_ms - began_ms) / 1000 }
  },
})

/** Of MQTT 3.1.1. */
class Connection {
  sent = 0
  came = 0
  last_ms = 0
  onCame: (count: number) => void = () => {}
  readonly #socket: Socket
  readonly #publishes: Publishes
  readonly #packets = new Packets()
  #granted: () => void = () => {}

  static async open({ port, to, from, qos }: MqttLoop): Promise<Connection> {
    const socket = connect(port, '127.0.0.1')
    await once(socket, 'connect')
    const connection = new Connection(socket, new Publishes(to, qos, 4))
    const granted = new Promise<void>(resolve => (connection.#granted = resolve))
    const name = text(`bench-${process.pid}`)
    socket.write(packet(0x10, Buffer.concat([text('MQTT'), Buffer.from([4, 2, 0, 0]), name])))
    socket.write(packet(0x82, Buffer.concat([Buffer.from([0, 1]), text(from), Buffer.from([qos])])))
    await granted
    return connection
  }

  private constructor(socket: Socket, publishes: Publishes) {
    this.#publishes = publishes
    this.#socket = socket
    socket.setNoDelay(true)
    socket.on('data', piece => this.#take(piece))
    socket.on('error', () => {})
  }

  send(count: number): void {
    this.sent += count
    this.#socket.write(this.#publishes.next(count))
  }

  close(): void {
    this.#socket.destroy()
  }

  #take(piece: Buffer): void {
    const acknowledgements: number[] = []
    let count = 0
    for (const { kind, flags, body } of this.#packets.cut(piece)) {
      if (kind === SUBACK) this.#granted()
      if (kind !== PUBLISH) continue
      count++
      if ((flags & 6) !== 0) acknowledgements.push(0x40, 2, ...idOf(body))
    }
    if (acknowledgements.length > 0) this.#socket.write(Buffer.from(acknowledgements))
    if (count === 0) return
    this.came += count
    this.last_ms = performance.now()
    this.onCame(count)
  }
}
