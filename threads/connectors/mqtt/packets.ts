/**
 * The packets that every message brings (MQTT 5.0 and 3.1.1, sections 2 and 3), as bytes: a PUBLISH and its acknowledgements.
 *
 *   first: kind << 4 | flags   length: 1 to 4 bytes of 7 bits, low ones first   body: length bytes
 *
 *   PUBLISH          flags: dup, QoS (2 bits), retain   topic (2 bytes of length), id (QoS 1, 2), properties (MQTT 5), payload
 *   acknowledgement  id, reason code and properties (MQTT 5, where there is something to say)
 */

export type Qos = 0 | 1 | 2

export const KIND = { connack: 2, publish: 3, puback: 4, pubrec: 5, pubrel: 6, pubcomp: 7, auth: 15 } as const
export type Acknowledgement = 4 | 5 | 6 | 7

/** The first byte of an acknowledgement: the flags of a PUBREL are 2, of the others 0. */
const firstByte = (kind: Acknowledgement): number => (kind << 4) | (kind === KIND.pubrel ? 2 : 0)

export interface PublishPacket {
  readonly topic: string
  /** Part of what was read; whoever keeps it copies it. */
  readonly payload: Buffer
  readonly qos: Qos
  readonly retain: boolean
  /** QoS 1 and 2. */
  readonly id: number
  /** The subscriptions that it is of, where the broker says so (MQTT 5). */
  readonly subscriptions: readonly number[] | null
}

export class MalformedPacket extends Error {}

const LENGTH_BYTES = 4

/** Cuts whole packets out of the pieces of a stream, without a copy where a packet lies whole in one piece. */
export class PacketCutter {
  /** The packet that has begun, and its bytes as far as they are known. */
  #kept: Buffer[] = []
  #length = 0
  #wanted = 0

  /** Calls `take` with each whole packet: where it begins, where its body does, where it ends. */
  push(piece: Buffer, take: (bytes: Buffer, from: number, body: number, end: number) => void): void {
    let bytes = piece
    if (this.#length > 0) {
      this.#kept.push(piece)
      this.#length += piece.length
      if (this.#length < this.#wanted) return
      bytes = Buffer.concat(this.#kept, this.#length)
      this.#kept = []
      this.#length = 0
    }
    let from = 0
    while (from < bytes.length) {
      const body = bodyAt(bytes, from)
      const end = body === 0 ? 0 : body + lengthOf(bytes, from + 1, body)
      if (body === 0 || end > bytes.length) {
        this.#wanted = body === 0 ? 0 : end - from
        this.#kept = [bytes.subarray(from)]
        this.#length = bytes.length - from
        return
      }
      take(bytes, from, body, end)
      from = end
    }
  }
}

/** Behind the length; 0: it is not whole yet. */
function bodyAt(bytes: Buffer, from: number): number {
  for (let at = from + 1; at <= from + LENGTH_BYTES; at++) {
    if (at >= bytes.length) return 0
    if (bytes[at]! < 128) return at + 1
  }
  throw new MalformedPacket('a packet has a length of more than four bytes')
}

function lengthOf(bytes: Buffer, from: number, end: number): number {
  let length = 0
  for (let at = end - 1; at >= from; at--) length = (length << 7) | (bytes[at]! & 127)
  return length
}

export function readPublish(bytes: Buffer, from: number, body: number, end: number, is5: boolean): PublishPacket {
  const qos = (bytes[from]! >> 1) & 3
  let at = body + 2
  if (qos === 3 || at > end) throw new MalformedPacket('a PUBLISH is malformed')
  const topic_end = at + bytes.readUInt16BE(body)
  const id_end = topic_end + (qos === 0 ? 0 : 2)
  if (id_end > end) throw new MalformedPacket('a PUBLISH ends within its topic')
  const topic = bytes.toString('utf8', at, topic_end)
  const id = qos === 0 ? 0 : bytes.readUInt16BE(topic_end)
  let subscriptions: number[] | null = null
  at = id_end
  if (is5) {
    const properties = bodyAt(bytes, at - 1)
    const after = properties === 0 ? end + 1 : properties + lengthOf(bytes, at, properties)
    if (after > end) throw new MalformedPacket('a PUBLISH ends within its properties')
    if (after > properties) subscriptions = readSubscriptions(bytes, properties, after)
    at = after
  }
  const retain = (bytes[from]! & 1) !== 0
  return { topic, payload: bytes.subarray(at, end), qos: qos as Qos, retain, id, subscriptions }
}

/** Properties of a PUBLISH (MQTT 5.0, section 2.2.2.2): how long each is, in bytes; `text` has its length before it, `pair` is two of them. */
const PROPERTIES: Readonly<Record<number, number | 'text' | 'pair' | 'number'>> = {
  1: 1,
  2: 4,
  3: 'text',
  8: 'text',
  9: 'text',
  11: 'number',
  35: 2,
  38: 'pair',
}
const SUBSCRIPTION = 11

function readSubscriptions(bytes: Buffer, from: number, end: number): number[] | null {
  let found: number[] | null = null
  for (let at = from; at < end; ) {
    const property = bytes[at++]!
    const size = PROPERTIES[property]
    if (size === undefined) throw new MalformedPacket(`a PUBLISH has the property ${property}`)
    let after = at
    if (size === 'number') after = bodyAt(bytes, at - 1) || end + 1
    else if (typeof size === 'number') after += size
    else
      for (let texts = size === 'pair' ? 2 : 1; texts > 0; texts--)
        after = after + 2 > end ? end + 1 : after + 2 + bytes.readUInt16BE(after)
    if (after > end) throw new MalformedPacket('a PUBLISH ends within a property')
    if (property === SUBSCRIPTION) (found ??= []).push(lengthOf(bytes, at, after))
    at = after
  }
  return found
}

export interface Acknowledged {
  readonly id: number
  /** 128 and more: it is refused. */
  readonly reason_code: number
}

export function readAcknowledgement(bytes: Buffer, body: number, end: number): Acknowledged {
  if (end < body + 2) throw new MalformedPacket('an acknowledgement has no packet id')
  return { id: bytes.readUInt16BE(body), reason_code: end > body + 2 ? bytes[body + 2]! : 0 }
}

const BLOCK_BYTES = 64 * 1024

/** Packets one after the other in blocks of bytes. */
export class PacketWriter {
  /** Behind the payload of the last packet that was taken. */
  #from = 0
  #at = 0
  #block = Buffer.allocUnsafeSlow(BLOCK_BYTES)
  readonly #is5: boolean

  constructor(is5: boolean) {
    this.#is5 = is5
  }

  /** Bytes that were written and not taken. */
  get length(): number {
    return this.#at - this.#from
  }

  publish(topic: string, payload: string | Buffer, qos: Qos, retain: boolean, id: number): void {
    const topic_bytes = Buffer.byteLength(topic)
    const payload_bytes = typeof payload === 'string' ? Buffer.byteLength(payload) : payload.length
    const length = 2 + topic_bytes + (qos === 0 ? 0 : 2) + (this.#is5 ? 1 : 0) + payload_bytes
    this.#reserve(1 + LENGTH_BYTES + length)
    const block = this.#block
    block[this.#at++] = (KIND.publish << 4) | (qos << 1) | (retain ? 1 : 0)
    for (let rest = length; ; rest >>= 7) {
      block[this.#at++] = rest > 127 ? (rest & 127) | 128 : rest
      if (rest <= 127) break
    }
    this.#number(topic_bytes)
    this.#at += block.write(topic, this.#at, topic_bytes, 'utf8')
    if (qos !== 0) this.#number(id)
    if (this.#is5) block[this.#at++] = 0
    if (typeof payload === 'string') this.#at += block.write(payload, this.#at, payload_bytes, 'utf8')
    else this.#at += payload.copy(block, this.#at)
  }

  acknowledge(kind: Acknowledgement, id: number): void {
    this.#reserve(4)
    this.#block[this.#at++] = firstByte(kind)
    this.#block[this.#at++] = 2
    this.#number(id)
  }

  /** Everything that was written; it stays as it is. */
  take(): Buffer {
    const taken = this.#block.subarray(this.#from, this.#at)
    this.#from = this.#at
    return taken
  }

  #number(value: number): void {
    this.#block[this.#at++] = value >> 8
    this.#block[this.#at++] = value & 255
  }

  #reserve(bytes: number): void {
    if (this.#at + bytes <= this.#block.length) return
    const written = this.take()
    this.#block = Buffer.allocUnsafeSlow(Math.max(BLOCK_BYTES, written.length + bytes))
    this.#from = 0
    this.#at = written.copy(this.#block)
  }
}
