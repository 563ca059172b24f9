import { randomBytes } from 'node:crypto'
import type { IConnackPacket, MqttClient } from 'mqtt'
import { limits } from '../../../protocol/limits.ts'
import type { ConnectorHost, Shareable } from '../connector.ts'
import { messageRefusal } from './failure.ts'
import { type Broker, Link, type LinkUser } from './link.ts'
import type { PacketStream, PacketUser } from './packet-stream.ts'
import { type Acknowledged, type Acknowledgement, KIND, type Qos } from './packets.ts'

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
 * The connection over which the nodes of a broker publish. Messages stay in their outlet until the broker has them: no more is
 * written than the socket takes (QoS 0) or than may be unacknowledged (QoS 1, 2).
 */
export class Publications implements Shareable, LinkUser {
  readonly #link: Link
  readonly #outlets = new Set<Outlet>()
  /** Null: the broker is not there. */
  #stream: PacketStream | null = null
  #reason: string | null = null
  /** Of QoS 1 and 2, by packet id. */
  readonly #in_flight = new Map<number, Outgoing>()
  #id = 0
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
    return this.#stream !== null
  }

  add(outlet: Outlet): void {
    this.#outlets.add(outlet)
    if (this.#stream !== null) outlet.up()
    else if (this.#reason !== null) outlet.down(this.#reason)
    this.pump()
  }

  remove(outlet: Outlet): void {
    this.#outlets.delete(outlet)
  }

  close(): Promise<void> {
    return this.#link.close()
  }

  opening(stream: PacketStream): PacketUser {
    return {
      begun: () => {},
      together: take => {
        take()
        this.pump()
      },
      // Nothing was subscribed to.
      message: () => {},
      acknowledged: (kind, acknowledged) => {
        if (this.#stream === stream) this.#acknowledged(stream, kind, acknowledged)
      },
      drained: () => this.pump(),
    }
  }

  up({ options }: MqttClient, { properties }: IConnackPacket, stream: PacketStream): void {
    this.#stream = stream
    this.#in_flight.clear()
    const most = options.protocolVersion === 5 ? properties?.receiveMaximum : limits.MQTT_IN_FLIGHT_UNTOLD
    this.#window = Math.min(limits.MQTT_IN_FLIGHT, most ?? limits.MQTT_IN_FLIGHT)
    this.pump()
    for (const outlet of this.#outlets) outlet.up()
  }

  down(reason: string): void {
    this.#stream = null
    this.#reason = reason
    for (const outlet of this.#outlets) {
      outlet.again()
      outlet.down(reason)
    }
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
      const stream = this.#stream
      if (stream === null || stream.isFull || this.#in_flight.size >= this.#window) return false
      const outgoing = outlet.next()
      if (outgoing === null) return false
      this.#send(stream, outgoing)
    }
    return true
  }

  #send(stream: PacketStream, outgoing: Outgoing): void {
    const { topic, payload, qos, retain } = outgoing
    if (qos === 0) {
      stream.publish(topic, payload, qos, retain, 0)
      return outgoing.done(null)
    }
    const id = this.#freeId()
    this.#in_flight.set(id, outgoing)
    stream.publish(topic, payload, qos, retain, id)
  }

  /** QoS 1 ends with PUBACK, QoS 2 with PUBREC, our PUBREL and PUBCOMP; a refusal ends both at once. */
  #acknowledged(stream: PacketStream, kind: Acknowledgement, { id, reason_code }: Acknowledged): void {
    const isRefused = reason_code >= 128
    if (kind === KIND.pubrec && !isRefused) return stream.acknowledge(KIND.pubrel, id)
    const outgoing = this.#in_flight.get(id)
    if (outgoing === undefined || kind === KIND.pubrel) return
    this.#in_flight.delete(id)
    outgoing.done(isRefused ? new Error(messageRefusal(reason_code)) : null)
  }

  #freeId(): number {
    do this.#id = (this.#id % 65_535) + 1
    while (this.#in_flight.has(this.#id))
    return this.#id
  }
}
