import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import {
  KIND,
  MalformedPacket,
  PacketCutter,
  PacketWriter,
  type PublishPacket,
  type Qos,
  readAcknowledgement,
  readPublish,
} from '../../../../threads/connectors/mqtt/packets.ts'
import { randomFrom, seed } from '../../../kit/random.ts'

/** The one that the library `mqtt` uses. */
const reference = createRequire(import.meta.resolve('mqtt'))('mqtt-packet') as {
  generate(packet: object, options: object): Buffer
  parser(options: object): { parse(bytes: Buffer): void; on(name: string, listener: (value: never) => void): void }
}

const ROUNDS = process.env['LONG'] === undefined ? 300 : 30_000
const PACKETS = 30
const random = randomFrom(seed)
const below = (bound: number): number => Math.floor(random() * bound)
const pick = <Value>(values: readonly Value[]): Value => values[below(values.length)]!
console.log(`seed ${seed}`)

const text = (): string => pick(['a', 'plant/1/t', 'größe/°C', 'x'.repeat(below(300)), '温度'])
const payload = (): Buffer => Buffer.alloc(pick([0, 1, below(100), 126, 127, 128, 20_000 + below(200)]), below(256))

function properties(): Record<string, unknown> {
  const all = {
    subscriptionIdentifier: pick<number | number[]>([1, 127, 128, 70_000, [3, 300_000]]),
    payloadFormatIndicator: true,
    messageExpiryInterval: below(2 ** 31),
    contentType: text(),
    responseTopic: `r/${text()}`,
    correlationData: payload().subarray(0, 100),
    userProperties: { [text()]: text(), more: ['one', 'two'] },
  }
  return Object.fromEntries(Object.entries(all).filter(() => random() < 0.3))
}

function publish(protocolVersion: 4 | 5) {
  const qos = below(3) as Qos
  const base = { cmd: 'publish', topic: `t/${text()}`, payload: payload(), qos, retain: random() < 0.5, dup: false }
  return {
    ...base,
    messageId: qos === 0 ? undefined : 1 + below(65_535),
    ...(protocolVersion === 5 ? { properties: properties() } : {}),
  }
}

/** In random pieces, some of one byte. */
function* pieces(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; ) {
    const end = at + pick([1, 2, 1 + below(50), 1 + below(70_000)])
    yield bytes.subarray(at, end)
    at = end
  }
}

test('what another implementation writes is read as it was meant, however it is cut', () => {
  for (let round = 0; round < ROUNDS; round++) {
    const protocolVersion = pick([4, 5] as const)
    const meant = Array.from({ length: PACKETS }, () => publish(protocolVersion))
    const cutter = new PacketCutter()
    const read: PublishPacket[] = []
    const bytes = Buffer.concat(meant.map(packet => reference.generate(packet, { protocolVersion })))
    for (const piece of pieces(bytes))
      cutter.push(piece, (whole, from, body, end) => {
        const packet = readPublish(whole, from, body, end, protocolVersion === 5)
        read.push({ ...packet, payload: Buffer.from(packet.payload) })
      })
    assert.deepEqual(
      read,
      meant.map(({ topic, payload, qos, retain, messageId = 0, ...rest }) => {
        const { subscriptionIdentifier: of } = ('properties' in rest ? rest.properties : {}) as Record<string, never>
        return { topic, payload, qos, retain, id: messageId, subscriptions: of === undefined ? null : [of].flat() }
      }),
    )
  }
})

test('what is written is read by another implementation as it was meant', () => {
  for (let round = 0; round < ROUNDS; round++) {
    const protocolVersion = pick([4, 5] as const)
    const writer = new PacketWriter(protocolVersion === 5)
    const parser = reference.parser({ protocolVersion })
    const read: object[] = []
    parser.on('packet', ({ cmd, topic, payload, qos, retain, messageId }: Record<string, unknown>) =>
      read.push(cmd === 'publish' ? { topic, payload: String(payload), qos, retain, messageId } : { cmd, messageId }),
    )
    parser.on('error', (error: Error) => assert.fail(error))
    const meant: object[] = []
    for (let count = 0; count < PACKETS; count++) {
      const id = 1 + below(65_535)
      if (random() < 0.3) {
        const cmd = pick(['puback', 'pubrec', 'pubrel', 'pubcomp'] as const)
        writer.acknowledge(KIND[cmd], id)
        meant.push({ cmd, messageId: id })
      } else {
        const { topic, payload, qos, retain } = publish(4)
        writer.publish(topic, random() < 0.5 ? payload : String(payload), qos, retain, id)
        const messageId = qos === 0 ? undefined : id
        meant.push({ topic, payload: String(payload), qos, retain, messageId })
      }
      if (random() < 0.2) parser.parse(Buffer.from(writer.take()))
    }
    parser.parse(Buffer.from(writer.take()))
    assert.deepEqual(read, meant)
  }
})

test('garbage is malformed, and nothing else comes of it', () => {
  for (let round = 0; round < ROUNDS * 20; round++) {
    const bytes = reference.generate(publish(5), { protocolVersion: 5 }).subarray(0, 2_000)
    for (let changes = 1 + below(6); changes > 0; changes--) bytes[below(Math.min(bytes.length, 40))] = below(256)
    const cutter = new PacketCutter()
    try {
      cutter.push(bytes, (whole, from, body, end) => {
        const kind = whole[from]! >> 4
        if (kind === KIND.publish) readPublish(whole, from, body, end, true)
        else if (kind >= KIND.puback && kind <= KIND.pubcomp) readAcknowledgement(whole, body, end)
      })
    } catch (error) {
      assert.ok(error instanceof MalformedPacket, String(error))
    }
  }
})
