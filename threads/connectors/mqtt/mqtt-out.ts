import { ServiceError } from '../../../protocol/errors.ts'
import { limits } from '../../../protocol/limits.ts'
import { writePayload } from '../../nodes/mqtt-out-body.ts'
import { TopicTemplate } from '../../nodes/topic-template.ts'
import type { MqttOutSettings } from '../../nodes/types/mqtt-out.ts'
import type { ConnectorCall, ConnectorHost, ConnectorRunner } from '../connector.ts'
import { type Broker, linkKey } from './link.ts'
import { OutboxOutlet } from './outbox-outlet.ts'
import { isReference } from './payload.ts'
import { type Outgoing, type Outlet, Publications } from './publications.ts'

/** Messages out: those that its lane leaves in the outbox, and calls. */
export const mqttOutRunner: ConnectorRunner<MqttOutSettings> = {
  open(node, host) {
    const broker = node.settings as Broker
    const lease = host.share(`out ${linkKey(broker)}`, () => new Publications(broker, host))
    const calls = new CallOutlet(node.settings, host, lease.thing)
    lease.thing.add(calls)
    const outbox = node.outbox == null ? null : new OutboxOutlet(node.outbox, host, lease.thing)
    if (outbox !== null) lease.thing.add(outbox)
    return {
      call: call => calls.call(call),
      async close() {
        await outbox?.close()
        if (outbox !== null) lease.thing.remove(outbox)
        lease.thing.remove(calls)
        lease.release()
      },
    }
  },
}

/** Messages that a caller waits for. */
class CallOutlet implements Outlet {
  readonly #settings: MqttOutSettings
  readonly #template: TopicTemplate
  readonly #host: ConnectorHost
  readonly #publications: Publications
  #waiting: Outgoing[] = []
  /** Handed out and not done, in order. */
  readonly #under_way = new Set<Outgoing>()
  #reason = 'has not answered yet'

  constructor(settings: MqttOutSettings, host: ConnectorHost, publications: Publications) {
    this.#settings = settings
    this.#template = new TopicTemplate(settings.topic)
    this.#host = host
    this.#publications = publications
  }

  /** Resolves when the broker has acknowledged it; QoS 0: when it is written. */
  async call({ inputs, signal }: ConnectorCall): Promise<Record<string, unknown>> {
    const rendered = this.#template.render(inputs)
    if ('fault' in rendered) throw new ServiceError('bad_topic', `The topic cannot be made: ${rendered.fault}.`)
    const { value } = inputs
    const payload = isReference(value) ? Buffer.from(await this.#host.artifacts.read(value)) : writePayload(value)
    const { qos = 0, retain = false } = this.#settings
    await new Promise<void>((resolve, reject) => {
      const settle = (refusal: Error | null): void => {
        clearTimeout(late)
        signal.removeEventListener('abort', aborted)
        this.#under_way.delete(outgoing)
        this.#waiting = this.#waiting.filter(one => one !== outgoing)
        if (refusal === null) resolve()
        else reject(refusal)
      }
      const outgoing: Outgoing = {
        topic: rendered.topic,
        payload,
        qos,
        retain,
        done: refusal =>
          settle(
            refusal === null
              ? null
              : new ServiceError('request_failed', `The broker refuses the message: ${refusal.message}.`),
          ),
      }
      const aborted = (): void => settle(signal.reason as Error)
      const late = setTimeout(
        () =>
          settle(
            new ServiceError(
              'request_failed',
              `The message was not taken within ${limits.MQTT_CALL_MS / 1000} s: ${this.#reason}.`,
            ),
          ),
        limits.MQTT_CALL_MS,
      )
      signal.addEventListener('abort', aborted)
      if (signal.aborted) return aborted()
      this.#waiting.push(outgoing)
      this.#publications.pump()
    })
    return {}
  }

  next(): Outgoing | null {
    const outgoing = this.#waiting.shift() ?? null
    if (outgoing !== null) this.#under_way.add(outgoing)
    return outgoing
  }

  again(): void {
    this.#waiting.unshift(...this.#under_way)
    this.#under_way.clear()
  }

  up(): void {
    this.#reason = 'the broker has not acknowledged it'
    this.#host.ok()
  }

  down(reason: string): void {
    this.#reason = reason
    this.#host.down(reason)
  }
}
