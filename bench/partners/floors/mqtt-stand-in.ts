/**
 * Stands in for a broker and its load at once: what it sends to whoever has subscribed, it takes from whoever publishes. It routes nothing and
 * hands over messages in blocks, so that it costs less than any broker, and what is measured is the client.
 *   listen() -> {port}
 *   opened({to, qos}) -> {}                       when there is a subscription to the topic
 *   send({to, qos, window, seconds}) -> {sent, came, seconds}
 */
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { answer } from '../../partner.ts'
import { CONNECT, idOf, Packets, PINGREQ, PUBLISH, Publishes, packet, SUBSCRIBE } from '../mqtt-bytes.ts'

const SILENCE_MS = 1_000

interface Client {
  readonly socket: Socket
  version: number
}

const subscribed = new Map<string, Client>()
let came = 0
let last_ms = 0
let onCame: (count: number) => void = () => {}

const server = createServer(socket => {
  socket.setNoDelay(true)
  socket.on('error', () => {})
  const client: Client = { socket, version: 4 }
  const packets = new Packets()
  socket.on('data', piece => {
    const acknowledgements: number[] = []
    let count = 0
    for (const { kind, flags, body } of packets.cut(piece)) {
      if (kind === PUBLISH) {
        count++
        if ((flags & 6) !== 0) acknowledgements.push(0x40, 2, ...idOf(body))
      } else if (kind === CONNECT) {
        client.version = body[6]!
        socket.write(packet(0x20, Buffer.alloc(client.version === 5 ? 3 : 2)))
      } else if (kind === SUBSCRIBE) subscribe(client, body)
      else if (kind === PINGREQ) socket.write(packet(0xd0, Buffer.alloc(0)))
    }
    if (acknowledgements.length > 0) socket.write(Buffer.from(acknowledgements))
    if (count === 0) return
    came += count
    last_ms = performance.now()
    onCame(count)
  })
})

function subscribe(client: Client, body: Buffer): void {
  const is5 = client.version === 5
  const granted: number[] = []
  for (let at = is5 ? 3 + body[2]! : 2; at < body.length; ) {
    const end = at + 2 + body.readUInt16BE(at)
    subscribed.set(body.toString('utf8', at + 2, end), client)
    granted.push(body[end]! & 3)
    at = end + 1
  }
  client.socket.write(packet(0x90, Buffer.from([body[0]!, body[1]!, ...(is5 ? [0] : []), ...granted])))
}

answer({
  async listen() {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return { port: (server.address() as { port: number }).port }
  },

  async opened({ to }: { to: string }) {
    while (!subscribed.has(to)) await sleep(20)
    return {}
  },

  async send({ to, qos, window, seconds }: { to: string; qos: 0 | 1; window: number; seconds: number }) {
    const { socket, version } = subscribed.get(to)!
    const publishes = new Publishes(to, qos, version)
    let sent = 0
    const send = (count: number): void => {
      sent += count
      socket.write(publishes.next(count))
    }
    came = 0
    const began_ms = performance.now()
    onCame = count => {
      if (performance.now() < began_ms + seconds * 1000) send(count)
    }
    send(window)
    for (let seen = 0, seen_ms = began_ms; came < sent; await sleep(5)) {
      if (came > seen) {
        seen = came
        seen_ms = performance.now()
      } else if (performance.now() > seen_ms + SILENCE_MS) break
    }
    onCame = () => {}
    return { sent, came, seconds: (last_ms - began_ms) / 1000 }
  },
})
