import { limits } from '../../../protocol/limits.ts'
import type { MqttInSettings } from '../../nodes/types/mqtt-in.ts'
import type { ConnectorHost, ConnectorRunner, ServedNode } from '../connector.ts'
import { type Broker, linkKey } from './link.ts'
import type { Qos } from './packets.ts'
import { type Read, readJson, readLongJson, readNumber } from './payload.ts'
import type { Receipt } from './receipts.ts'
import { type Subscriber, Subscriptions } from './subscriptions.ts'

/** Messages in, one cascade each. */
export const mqttInRunner: ConnectorRunner<MqttInSettings> = {
  open(node, host) {
    const broker = node.settings as Broker
    const lease = host.share(`in ${linkKey(broker)}`, () => new Subscriptions(broker, host))
    const subscriber = new NodeMessages(node, host)
    lease.thing.add(subscriber)
    return {
      close() {
        lease.thing.remove(subscriber, host.stopping)
        // In a session what was not acknowledged is sent again, unless the connection goes on without the node.
        const comes_again = (broker.session_s ?? 0) > 0 && (host.stopping || lease.thing.isEmpty)
        if (!comes_again) subscriber.giveUp()
        subscriber.closed = true
        lease.release()
      },
    }
  },
}

interface Held {
  readonly topic: string
  /** A copy. */
  readonly payload: Buffer
  /** Null: QoS 0. */
  readonly receipt: Receipt | null
  /** Of a long one, once it is read. */
  read: Read | null
}

/**
 * What one node makes of the messages. While its flow is full those of QoS 1 and 2 wait here, unacknowledged and in order; those of QoS 0 are dropped.
 * While a long payload is read, in slices, all wait.
 *
 *   passing --the flow is full, or a long payload--> holding --everything is published--> passing
 */
class NodeMessages implements Subscriber {
  closed = false
  readonly filters: readonly string[]
  readonly qos: Qos
  readonly #host: ConnectorHost
  readonly #read: (payload: Buffer) => Read
  readonly #hasTopic: boolean
  readonly #is_json: boolean
  readonly #json_key: string | null
  #held: Held[] = []
  #held_bytes = 0
  #reading = false

  constructor({ settings, outputs }: ServedNode<MqttInSettings>, host: ConnectorHost) {
    this.filters = settings.topics
    this.qos = settings.qos ?? 0
    this.#host = host
    this.#hasTopic = outputs.some(({ name }) => name === 'topic')
    this.#is_json = (settings.payload ?? 'json') === 'json'
    this.#json_key = settings.json_key ?? null
    this.#read = reader(settings, host)
  }

  take(topic: string, payload: Buffer, receipt: Receipt | null): void {
    const is_long = this.#isLong(payload)
    if (this.#held.length === 0 && !is_long && this.#publish(topic, payload, this.#read(payload))) return
    if (receipt === null && (this.isFull || !(is_long || this.#reading))) {
      this.#host.dropped('flow_full', 1)
      return
    }
    receipt?.hold()
    this.#held.push({ topic, payload: Buffer.from(payload), receipt, read: null })
    this.#held_bytes += payload.length
    if (this.#held.length === 1) this.#publishHeld()
  }

  get isFull(): boolean {
    return this.#held.length >= limits.MQTT_HELD || this.#held_bytes >= limits.MQTT_HELD_BYTES
  }

  up(): void {
    this.#host.ok()
  }

  down(reason: string): void {
    this.#host.down(reason)
  }

  /** Nobody will take what is held. */
  giveUp(): void {
    if (this.#held.length > 0) this.#host.dropped('node_changed', this.#held.length)
    for (const { receipt } of this.#held.splice(0)) receipt?.settle()
    this.#held_bytes = 0
  }

  /** False: there is no room. */
  #publish(topic: string, payload: Buffer, read: Read): boolean {
    if ('fault' in read) {
      const shown = JSON.stringify(topic.slice(0, limits.MQTT_SHOWN_CHARACTERS))
      this.#refuse(`A message of ${shown} ${read.fault}.`, topic, payload)
      return true
    }
    const published = this.#host.publish(this.#hasTopic ? { value: read.value, topic } : { value: read.value })
    if (published === 'refused') this.#host.dropped('bad_message', 1)
    return published !== 'full'
  }

  async #publishHeld(): Promise<void> {
    while (this.#held.length > 0) {
      const [first] = this.#held
      if (first!.read === null && this.#isLong(first!.payload)) {
        this.#reading = true
        first!.read = await readLongJson(first!.payload, this.#json_key)
        this.#reading = false
      } else await this.#host.whenRoom()
      if (this.closed) return
      let count = 0
      this.#host.batch(() => {
        while (count < this.#held.length && this.#publishOne(this.#held[count]!)) count++
      })
      // Only now does it stand.
      for (const { payload, receipt } of this.#held.splice(0, count)) {
        this.#held_bytes -= payload.length
        receipt?.settle()
      }
    }
  }

  /** False: there is no room, or it is to be read first. */
  #publishOne({ topic, payload, receipt, read }: Held): boolean {
    if (read === null && this.#isLong(payload)) return false
    if (this.#publish(topic, payload, read ?? this.#read(payload))) return true
    if (receipt === null) this.#host.dropped('flow_full', 1)
    return receipt === null
  }

  #isLong(payload: Buffer): boolean {
    return this.#is_json && payload.length > limits.BODY_AT_ONCE_BYTES
  }

  #refuse(text: string, topic: string, payload: Buffer): void {
    const shown = payload.toString('utf8', 0, limits.MQTT_SHOWN_CHARACTERS)
    this.#host.failed('bad_message', text, { topic: topic.slice(0, limits.MQTT_SHOWN_CHARACTERS), payload: shown })
    this.#host.dropped('bad_message', 1)
  }
}

function reader(
  { payload = 'json', json_key = null, media_type = 'application/octet-stream' }: MqttInSettings,
  host: ConnectorHost,
): (payload: Buffer) => Read {
  switch (payload) {
    case 'json':
      return bytes => readJson(bytes, json_key)
    case 'number':
      return readNumber
    case 'text':
      return bytes => ({ value: bytes.toString() })
    case 'bytes':
      return bytes => readBytes(bytes, media_type, host)
  }
}

function readBytes(bytes: Buffer, media_type: string, host: ConnectorHost): Read {
  try {
    const value = host.volatile(bytes, media_type)
    return value === null ? { fault: 'found the store of volatile artifacts busy' } : { value }
  } catch (error) {
    return { fault: `of ${bytes.length} bytes cannot be kept: ${(error as Error).message.replace(/\.$/, '')}` }
  }
}
