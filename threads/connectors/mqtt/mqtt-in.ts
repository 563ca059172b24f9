import { limits } from '../../../protocol/limits.ts'
import type { MqttInSettings } from '../../nodes/types/mqtt-in.ts'
import type { ConnectorHost, ConnectorRunner, ServedNode } from '../connector.ts'
import { type Broker, linkKey } from './link.ts'
import { type Read, readJson, readNumber } from './payload.ts'
import { type Qos, type Subscriber, Subscriptions } from './subscriptions.ts'

/** Messages in, one cascade each. */
export const mqttInRunner: ConnectorRunner<MqttInSettings> = {
  open(node, host) {
    const broker = node.settings as Broker
    const lease = host.share(`in ${linkKey(broker)}`, () => new Subscriptions(broker, host))
    const subscriber = new NodeMessages(node, host)
    lease.thing.add(subscriber)
    return {
      close() {
        subscriber.closed = true
        lease.thing.remove(subscriber)
        lease.release()
      },
    }
  },
}

/** What one node makes of the messages. */
class NodeMessages implements Subscriber {
  closed = false
  readonly filters: readonly string[]
  readonly qos: Qos
  readonly #host: ConnectorHost
  readonly #read: (payload: Buffer) => Read
  readonly #hasTopic: boolean
  /** Messages of one connection come one after the other: what is held is in front of the next. */
  #held: Promise<void> | null = null

  constructor({ settings, outputs }: ServedNode<MqttInSettings>, host: ConnectorHost) {
    this.filters = settings.topics
    this.qos = settings.qos ?? 0
    this.#host = host
    this.#hasTopic = outputs.some(({ name }) => name === 'topic')
    this.#read = reader(settings, host)
  }

  take(topic: string, payload: Buffer, qos: Qos): Promise<void> | null {
    const read = this.#read(payload)
    if ('fault' in read) {
      this.#refuse(
        `A message of ${JSON.stringify(topic.slice(0, limits.MQTT_SHOWN_CHARACTERS))} ${read.fault}.`,
        topic,
        payload,
      )
      return null
    }
    const outputs = this.#hasTopic ? { value: read.value, topic } : { value: read.value }
    if (this.#held === null && this.#publish(outputs)) return null
    if (qos === 0) {
      this.#host.dropped('flow_full', 1)
      return null
    }
    const held = this.#later(outputs, this.#held)
    this.#held = held
    return held.finally(() => {
      if (this.#held === held) this.#held = null
    })
  }

  up(): void {
    this.#host.ok()
  }

  down(reason: string): void {
    this.#host.down(reason)
  }

  /** False: there is no room. */
  #publish(outputs: { value: unknown; topic?: string }): boolean {
    const published = this.#host.publish(outputs)
    if (published === 'refused') this.#host.dropped('bad_message', 1)
    return published !== 'full'
  }

  async #later(outputs: { value: unknown; topic?: string }, before: Promise<void> | null): Promise<void> {
    await before
    while (!this.closed && !this.#publish(outputs)) await this.#host.whenRoom()
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
