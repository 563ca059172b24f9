import { OutboxReader } from '../../../core/memory/outbox.ts'
import { limits } from '../../../protocol/limits.ts'
import { isRetained, qosOf } from '../../nodes/mqtt-out-body.ts'
import type { ConnectorHost } from '../connector.ts'
import type { Outgoing, Outlet, Publications } from './publications.ts'

interface Sent {
  readonly end: number
  done: boolean
}

/**
 * Messages that the lane of a node has left. They stay in the outbox until the broker has them, in order, so that neither the end of this
 * thread nor that of a connection loses one.
 *
 *   connecting --up--> sending --down--> away --up--> sending: everything unacknowledged is sent again
 *   connecting --down--> away: the oldest fall out beyond a half of the outbox
 *
 * Nothing falls out while it is connecting: this thread may have come in place of one that died, and the broker is there.
 */
export class OutboxOutlet implements Outlet {
  readonly #reader: OutboxReader
  readonly #host: ConnectorHost
  readonly #publications: Publications
  /** Handed out and not in order acknowledged yet. */
  #under_way: Sent[] = []
  #trimming: NodeJS.Timeout | null = null
  readonly #gauging: NodeJS.Timeout
  #gauged = 0
  #listening = false
  /** Nothing more is handed out. */
  #ending = false
  #closed = false
  #changed: (() => void) | null = null

  constructor(sab: SharedArrayBuffer, host: ConnectorHost, publications: Publications) {
    this.#reader = new OutboxReader(sab)
    this.#host = host
    this.#publications = publications
    this.#gauging = setInterval(() => this.#gauge(), limits.OUTBOX_GAUGE_MS)
  }

  next(): Outgoing | null {
    const record = this.#ending ? null : this.#reader.next()
    if (record === null) {
      this.#listen()
      return null
    }
    const { topic, payload, flags, end } = record
    const qos = qosOf(flags)
    if (qos === 0) return { topic, payload, qos, retain: isRetained(flags), done: () => this.#atOnce(end) }
    const sent: Sent = { end, done: false }
    this.#under_way.push(sent)
    const done = (refusal: Error | null): void => {
      if (refusal !== null)
        this.#host.failed(
          'request_failed',
          `The broker refuses a message to ${JSON.stringify(topic)}: ${refusal.message}.`,
        )
      sent.done = true
      this.#acknowledge()
    }
    return { topic, payload, qos, retain: isRetained(flags), done }
  }

  again(): void {
    this.#under_way = []
    this.#reader.again()
  }

  up(): void {
    if (this.#trimming !== null) clearInterval(this.#trimming)
    this.#trimming = null
  }

  down(): void {
    this.#away()
    this.#changed?.()
  }

  /**
   * What waits goes out first, as long as the broker is there and it does not take long; then what the broker has got is acknowledged. What
   * is left is its successor's, or is counted when there will be none: then the outbox is closed.
   */
  async close(): Promise<void> {
    await this.#until(() => this.#reader.isEmpty)
    this.#ending = true
    await this.#until(() => this.#under_way.length === 0)
    this.#closed = true
    clearInterval(this.#gauging)
    this.up()
    this.#reader.wake()
    const lost = this.#reader.isClosed ? this.#reader.trim(0) : 0
    if (lost > 0) this.#host.dropped('not_sent', lost)
  }

  /** Or the broker is away, or it takes long. */
  async #until(isSo: () => boolean): Promise<void> {
    let isLate = false
    const late = new Promise<void>(resolve =>
      setTimeout(() => {
        isLate = true
        resolve()
      }, limits.MQTT_END_MS).unref(),
    )
    while (this.#publications.isUp && !isSo() && !isLate)
      await Promise.race([late, new Promise<void>(resolve => (this.#changed = resolve))])
  }

  #atOnce(end: number): void {
    if (this.#under_way.length > 0) {
      // A message of another QoS is before it: the node was changed meanwhile.
      this.#under_way.push({ end, done: true })
      return
    }
    this.#reader.sent(end)
    this.#changed?.()
  }

  #acknowledge(): void {
    let count = 0
    while (this.#under_way[count]?.done) count++
    if (count === 0) return
    this.#reader.sent(this.#under_way[count - 1]!.end)
    this.#under_way.splice(0, count)
    this.#changed?.()
  }

  #listen(): void {
    if (this.#listening || this.#ending) return
    const more = this.#reader.waitForMore()
    if (more === null) {
      setImmediate(() => this.#publications.pump())
      return
    }
    this.#listening = true
    more.then(() => {
      this.#listening = false
      if (!this.#closed) this.#publications.pump()
    })
  }

  /** Only what changes is told. */
  #gauge(): void {
    const bytes = this.#reader.usedBytes
    if (bytes !== this.#gauged) this.#host.gauge('waiting_bytes', bytes)
    this.#gauged = bytes
  }

  #away(): void {
    this.#trimming ??= setInterval(() => {
      const count = this.#reader.trim(limits.OUTBOX_BYTES / 2)
      if (count > 0) this.#host.dropped('broker_away', count)
    }, limits.OUTBOX_TRIM_MS)
  }
}
