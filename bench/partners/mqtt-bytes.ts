/** Packets of MQTT as bytes, for load generators: they must cost less than what they measure. */

export const CONNECT = 1
export const PUBLISH = 3
export const SUBSCRIBE = 8
export const SUBACK = 9
export const PINGREQ = 12

/** 100 bytes. */
export const PAYLOAD = Buffer.from(`{"n":20.5,"room":"${'x'.repeat(80)}"}`)

export function packet(first: number, body: Buffer): Buffer {
  const head = [first]
  let { length } = body
  do {
    const low = length & 127
    length >>= 7
    head.push(length > 0 ? low | 128 : low)
  } while (length > 0)
  return Buffer.concat([Buffer.from(head), body])
}

export function text(written: string): Buffer {
  const bytes = Buffer.from(written)
  return Buffer.concat([Buffer.from([bytes.length >> 8, bytes.length & 255]), bytes])
}

/** Copies of one PUBLISH, with packet ids that count on when its QoS is 1. */
export class Publishes {
  readonly #packet: Buffer
  readonly #id_at: number
  readonly #qos: 0 | 1
  #id = 0

  constructor(topic: string, qos: 0 | 1, version: number) {
    const name = text(topic)
    this.#qos = qos
    this.#id_at = 2 + name.length
    const rest = Buffer.alloc((qos === 0 ? 0 : 2) + (version === 5 ? 1 : 0))
    this.#packet = packet(0x30 | (qos << 1), Buffer.concat([name, rest, PAYLOAD]))
  }

  next(count: number): Buffer {
    const { length } = this.#packet
    const all = Buffer.allocUnsafe(count * length)
    for (let at = 0; at < all.length; at += length) {
      this.#packet.copy(all, at)
      if (this.#qos === 0) continue
      this.#id = (this.#id % 65_535) + 1
      all.writeUInt16BE(this.#id, at + this.#id_at)
    }
    return all
  }
}

export interface Packet {
  readonly kind: number
  readonly flags: number
  readonly body: Buffer
}

/** Cuts packets out of what a connection brings. */
export class Packets {
  #rest: Buffer = Buffer.alloc(0)

  cut(piece: Buffer): Packet[] {
    const packets: Packet[] = []
    const bytes = this.#rest.length === 0 ? piece : Buffer.concat([this.#rest, piece])
    let at = 0
    for (let end = endAt(bytes, at); end !== null; end = endAt(bytes, at)) {
      packets.push({ kind: bytes[at]! >> 4, flags: bytes[at]! & 15, body: bytes.subarray(end.body, end.end) })
      at = end.end
    }
    this.#rest = bytes.subarray(at)
    return packets
  }
}

/** Null: the packet that begins there is not whole yet. */
function endAt(bytes: Buffer, at: number): { body: number; end: number } | null {
  let length = 0
  for (let place = at + 1, shift = 0; place < bytes.length; place++, shift += 7) {
    length |= (bytes[place]! & 127) << shift
    if (bytes[place]! >= 128) continue
    const end = place + 1 + length
    return end > bytes.length ? null : { body: place + 1, end }
  }
  return null
}

/** The two bytes behind the topic of a PUBLISH of QoS 1. */
export function idOf(body: Buffer): readonly [number, number] {
  const at = 2 + body.readUInt16BE(0)
  return [body[at]!, body[at + 1]!]
}
