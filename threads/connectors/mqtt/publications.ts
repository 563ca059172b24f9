import { randomBytes } from 'node:crypto'
import type { IConnackPacket, MqttClient } from 'mqtt'
import { limits } from '../../../protocol/limits.ts'
import type { ConnectorHost, Shareable } from '../connector.ts'
import { type Broker, Link, type LinkUser } from './link.ts'
import type { Qos } from './subscriptions.ts'

/** A message on its way out. */
export interface Outgoing {
  readonly topic: string
  readonly payload: string | Buffer
  readonly qos: Qos
  readonly retain: boolean
  /** The broker has it, or refuses it for a reason; QoS 0: it is written. Not called for what was under way when the connection was lost. */
  done(refusal: Error | null): void
}

/** Where the messages of a node wait, in order. */
export interface Outlet {
  /** The next one that was not handed out; null: there is none. */
  next(): Outgoing | null
  /** The connection is lost: everything that was not `done` is handed out again. */
  again(): void
  up(): void
  down(reason: string): void
}

/**
 * The connection over which the nodes of a broker publish. Messages stay in their outlet until the broker has them: the library gets no
 * more than the socket takes (QoS 0) or than may be unacknowledged (QoS 1, 2).
 */
export class Publications implements Shareable, LinkUser {
  readonly #link: Link
  readonly #outlets = new Set<Outlet>()
  #client: MqttClient | null = null
  #reason: string | null = null
  #in_flight = 0
  #window: number = limits.MQTT_IN_FLIGHT
  #pumping = false

  constructor(broker: Broker, host: Pick<ConnectorHost, 'reach' | 'random' | 'steadyMs'>) {
    const client_id = broker.client_id == null ? `flow-${randomBytes(8).toString('hex')}` : `${broker.client_id}-out`
    this.#link = new Link({
      broker: { ...broker, session_s: 0 },
      client_id,
      keepalive_s: limits.MQTT_KEEPALIVE_S,
      user: this,
      host,
    })
    this.#link.open()
  }

  get isUp(): boolean {
    return this.#client !== null
  }

  add(outlet: Outlet): void {
    this.#outlets.add(outlet)
    if (this.#client !== null) outlet.up()
    else if (this.#reason !== null) outlet.down(this.#reason)
    this.pump()
  }

  remove(outlet: Outlet): void {
    this.#outlets.delete(outlet)
  }

  close(): Promise<void> {
    return this.#link.close()
  }

  up(client: MqttClient, { properties }: IConnackPacket): void {
    this.#client = client
    this.#in_flight = 0
    this.#window = Math.min(limits.MQTT_IN_FLIGHT, properties?.receiveMaximum ?? limits.MQTT_IN_FLIGHT)
    client.stream.on('drain', () => this.pump())
    this.pump()
    for (const outlet of this.#outlets) outlet.up()
  }

  down(reason: string): void {
    this.#client = null
    this.#reason = reason
    for (const outlet of this.#outlets) {
      outlet.again()
      outlet.down(reason)
    }
  }

  /** Nothing was subscribed to. */
  message(_packet: unknown, done: () => void): void {
    done()
  }

  /** Called whenever an outlet has something, or there is room. */
  pump(): void {
    if (this.#pumping) return
    this.#pumping = true
    // Each its turn, so that none waits for all of another.
    for (let some = true; some; ) {
      some = false
      for (const outlet of this.#outlets) some = this.#some(outlet) || some
    }
    this.#pumping = false
  }

  #some(outlet: Outlet): boolean {
    for (let count = 0; count < limits.MQTT_OUT_TURN; count++) {
      const client = this.#client
      if (client === null || client.stream.writableNeedDrain || this.#in_flight >= this.#window) return false
      const outgoing = outlet.next()
      if (outgoing === null) return false
      this.#send(client, outgoing)
    }
    return true
  }

  #send(client: MqttClient, outgoing: Outgoing): void {
    const { topic, payload, qos, retain } = outgoing
    if (qos === 0) {
      client.publish(topic, payload, { qos, retain })
      return outgoing.done(null)
    }
    this.#in_flight++
    client.publish(topic, payload, { qos, retain }, error => {
      // Of a connection that was lost: its message is handed out again.
      if (this.#client !== client) return
      this.#in_flight--
      outgoing.done(error ?? null)
      this.pump()
    })
  }
}
