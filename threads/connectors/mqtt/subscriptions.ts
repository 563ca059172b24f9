import { randomBytes } from 'node:crypto'
import type { IConnackPacket, MqttClient } from 'mqtt'
import { limits } from '../../../protocol/limits.ts'
import { matches, overlap } from '../../nodes/mqtt-topics.ts'
import type { ConnectorHost, Shareable } from '../connector.ts'
import { brokerReason } from './failure.ts'
import { type Broker, Link, type LinkUser } from './link.ts'
import type { PacketStream, PacketUser } from './packet-stream.ts'
import { KIND, type PublishPacket, type Qos } from './packets.ts'
import { type Receipt, Receipts } from './receipts.ts'

/** A node that gets messages. */
export interface Subscriber {
  readonly filters: readonly string[]
  readonly qos: Qos
  /** The payload is good during the call. QoS 1 and 2 have a receipt: whoever takes it later holds it until then. */
  take(topic: string, payload: Buffer, receipt: Receipt | null): void
  /** It keeps as much as it may: nothing more should come. */
  readonly isFull: boolean
  up(): void
  down(reason: string): void
}

type Handle = (packet: PublishPacket, receipt: Receipt | null) => void
type LineHost = Pick<ConnectorHost, 'reach' | 'random' | 'steadyMs' | 'batch'>

/** One subscription of one connection, for all nodes that want it. */
interface Subscription {
  readonly filter: string
  /** By it the broker says which subscription a copy is of (MQTT 5). */
  readonly id: number
  readonly line: Line
  readonly subscribers: Set<Subscriber>
  /** Those that the retained messages which come now are for. */
  readonly waiting: Set<Subscriber>
  qos: Qos
  state: 'new' | 'asked' | 'granted' | 'refused'
}

/**
 * What nodes have subscribed to at one broker. A message reaches each node once, whichever of its filters match:
 *
 * - MQTT 5: there is one connection. The broker sends a copy for each subscription that matches, with its identifier, and a node takes the
 *   copy of its first filter that matches.
 * - MQTT 3.1.1: copies do not say what they are of. Filters that have a topic in common go over different connections.
 */
export class Subscriptions implements Shareable {
  readonly #broker: Broker
  readonly #host: LineHost
  readonly #client_id: string
  readonly #lines: Line[] = []
  readonly #subscribers = new Set<Subscriber>()
  /** In which subscription each subscriber takes messages of a topic. */
  readonly #routes = new Map<string, [Subscriber, Subscription][]>()
  #ids = 0

  constructor(broker: Broker, host: LineHost) {
    this.#broker = broker
    this.#host = host
    this.#client_id = broker.client_id ?? `flow-${randomBytes(8).toString('hex')}`
  }

  add(subscriber: Subscriber): void {
    this.#routes.clear()
    this.#subscribers.add(subscriber)
    for (const filter of subscriber.filters) {
      const line = this.#lineFor(filter)
      let subscription = line.subscriptions.get(filter)
      if (subscription === undefined) {
        subscription = {
          filter,
          id: ++this.#ids,
          line,
          subscribers: new Set(),
          waiting: new Set(),
          qos: 0,
          state: 'new',
        }
        line.subscriptions.set(filter, subscription)
      }
      subscription.subscribers.add(subscriber)
      subscription.qos = Math.max(subscription.qos, subscriber.qos) as Qos
      line.want(subscription, subscriber)
    }
    for (const line of this.#lines) line.tell(subscriber)
  }

  /** `stays`: what it has subscribed to stays with the broker, which keeps it for the session. */
  remove(subscriber: Subscriber, stays: boolean): void {
    this.#routes.clear()
    this.#subscribers.delete(subscriber)
    for (const line of this.#lines) line.forget(subscriber, stays)
  }

  get isEmpty(): boolean {
    return this.#subscribers.size === 0
  }

  async close(): Promise<void> {
    await Promise.all(this.#lines.map(line => line.close()))
  }

  #lineFor(filter: string): Line {
    const isFree = (line: Line): boolean =>
      line.subscriptions.has(filter) || ![...line.subscriptions.keys()].some(other => overlap(filter, other))
    const found = this.#broker.protocol === '3.1.1' ? this.#lines.find(isFree) : this.#lines[0]
    if (found !== undefined) return found
    const number = this.#lines.length + 1
    const client_id = number === 1 ? this.#client_id : `${this.#client_id}-${number}`
    const line: Line = new Line(
      this.#broker,
      client_id,
      this.#host,
      (packet, receipt) => this.#message(line, packet, receipt),
      () => {
        for (const one of this.#lines) one.settled()
      },
    )
    this.#lines.push(line)
    return line
  }

  #message(line: Line, packet: PublishPacket, receipt: Receipt | null): void {
    const { topic, payload, retain, subscriptions } = packet
    for (const [subscriber, subscription] of this.#routesOf(topic)) {
      if (subscription.line !== line) continue
      if (subscriptions !== null && !subscriptions.includes(subscription.id)) continue
      if (retain && !subscription.waiting.has(subscriber)) continue
      subscriber.take(topic, payload, receipt)
    }
  }

  #routesOf(topic: string): [Subscriber, Subscription][] {
    let routes = this.#routes.get(topic)
    if (routes !== undefined) return routes
    routes = []
    for (const subscriber of this.#subscribers) {
      const filter = subscriber.filters.find(one => matches(one, topic))
      if (filter === undefined) continue
      const subscription = this.#lines
        .map(({ subscriptions }) => subscriptions.get(filter))
        .find(one => one !== undefined)
      if (subscription !== undefined) routes.push([subscriber, subscription])
    }
    if (this.#routes.size >= limits.MQTT_ROUTES) this.#routes.clear()
    this.#routes.set(topic, routes)
    return routes
  }
}

/**
 * One connection with its subscriptions. Messages are acknowledged when their nodes have published them. A node whose flow is full keeps some of QoS 1
 * and 2, while those of other nodes pass; only when it may keep no more nothing is read until it has room.
 */
class Line implements LinkUser {
  readonly subscriptions = new Map<string, Subscription>()
  readonly #message: Handle
  readonly #host: LineHost
  readonly #link: Link
  readonly #url: string
  readonly #receipts: Receipts
  #client: MqttClient | null = null
  #stream: PacketStream | null = null
  #isHeld = false
  #closed = false
  #hasIds = false
  #reason: string | null = null
  #asking = false

  constructor(broker: Broker, client_id: string, host: LineHost, message: Handle, onSettled: () => void) {
    this.#message = message
    this.#receipts = new Receipts(onSettled)
    this.#host = host
    this.#url = broker.url
    // While nothing is read, no answer to a ping is.
    this.#link = new Link({ broker, client_id, keepalive_s: 0, user: this, host })
    this.#link.open()
  }

  opening(stream: PacketStream): PacketUser {
    return {
      begun: has_session => {
        this.#stream = stream
        this.#isHeld = false
        this.#receipts.begin(stream, has_session)
      },
      together: take => {
        this.#host.batch(take)
        if (this.#receipts.isWaiting) this.#look()
      },
      message: packet => {
        // Not acknowledged: a session brings it again.
        if (this.#closed) return
        const { qos, id } = packet
        if (qos === 0) return this.#message(packet, null)
        const receipt = this.#receipts.take(id, qos)
        if (receipt === null) return
        this.#message(packet, receipt)
        receipt.settle()
      },
      acknowledged: (kind, { id }) => {
        if (kind === KIND.pubrel) this.#receipts.released(id)
      },
      drained: () => {},
    }
  }

  /** Whether to read on. */
  #look(): void {
    const isFull = this.#hasFullNode
    if (isFull === this.#isHeld) return
    this.#isHeld = isFull
    if (isFull) this.#stream?.hold()
    else this.#stream?.release()
  }

  get #hasFullNode(): boolean {
    for (const { subscribers } of this.subscriptions.values())
      for (const { isFull } of subscribers) if (isFull) return true
    return false
  }

  /** A node has room that it had not: whichever connection its messages came over. */
  settled(): void {
    if (this.#isHeld) this.#look()
  }

  close(): Promise<void> {
    this.#closed = true
    return this.#link.close()
  }

  want(subscription: Subscription, subscriber: Subscriber): void {
    // What the others wait for still comes; retained messages that come after an answer are theirs alone no longer.
    if (subscription.state !== 'asked') subscription.waiting.clear()
    subscription.waiting.add(subscriber)
    subscription.state = 'new'
    this.#askSoon()
  }

  forget(subscriber: Subscriber, stays: boolean): void {
    for (const [filter, subscription] of this.subscriptions) {
      subscription.waiting.delete(subscriber)
      if (!subscription.subscribers.delete(subscriber) || subscription.subscribers.size > 0) continue
      this.subscriptions.delete(filter)
      if (!stays) this.#client?.unsubscribe(filter)
    }
  }

  up(client: MqttClient, { properties, sessionPresent }: IConnackPacket): void {
    this.#client = client
    this.#reason = null
    this.#hasIds = client.options.protocolVersion === 5 && properties?.subscriptionIdentifiersAvailable !== false
    for (const subscription of this.subscriptions.values()) {
      // The broker has kept what came meanwhile: retained messages are nothing new.
      const isKept = sessionPresent && subscription.state === 'granted' && subscription.qos > 0
      subscription.state = 'new'
      subscription.waiting.clear()
      if (!isKept) for (const subscriber of subscription.subscribers) subscription.waiting.add(subscriber)
    }
    this.#ask()
  }

  down(reason: string): void {
    this.#client = null
    this.#reason = reason
    for (const { subscribers } of this.subscriptions.values())
      for (const subscriber of subscribers) subscriber.down(reason)
  }

  /** A node that comes later is told what is known. */
  tell(subscriber: Subscriber): void {
    if (
      this.#reason !== null &&
      [...this.subscriptions.values()].some(({ subscribers }) => subscribers.has(subscriber))
    )
      subscriber.down(this.#reason)
  }

  /** Nodes of one deploy come one after the other: they are asked for together. */
  #askSoon(): void {
    if (this.#asking) return
    this.#asking = true
    setImmediate(() => {
      this.#asking = false
      this.#ask()
    })
  }

  #ask(): void {
    const client = this.#client
    if (client === null) return
    for (const subscription of this.subscriptions.values()) {
      if (subscription.state !== 'new') continue
      subscription.state = 'asked'
      const { filter, qos, id } = subscription
      const options = this.#hasIds ? { qos, properties: { subscriptionIdentifier: id } } : { qos }
      client.subscribe(filter, options, (error, granted) => {
        if (this.#client !== client || subscription.state !== 'asked') return
        const isRefused = error !== null || granted?.some(({ qos }) => qos >= 128) === true
        subscription.state = isRefused ? 'refused' : 'granted'
        for (const subscriber of subscription.subscribers) this.#answered(subscriber)
      })
    }
  }

  #answered(subscriber: Subscriber): void {
    const own = [...this.subscriptions.values()].filter(({ subscribers }) => subscribers.has(subscriber))
    const refused = own.find(({ state }) => state === 'refused')
    if (refused !== undefined)
      subscriber.down(`${brokerReason.of(this.#url)} refuses the subscription to ${JSON.stringify(refused.filter)}`)
    else if (own.every(({ state }) => state === 'granted')) subscriber.up()
  }
}
