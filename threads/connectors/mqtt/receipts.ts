import type { PacketStream } from './packet-stream.ts'
import { KIND } from './packets.ts'

/** A message of QoS 1 or 2 that is acknowledged when everybody has taken it. */
export class Receipt {
  readonly id: number
  readonly qos: 1 | 2
  readonly #receipts: Receipts
  #open = 1

  constructor(id: number, qos: 1 | 2, receipts: Receipts) {
    this.id = id
    this.qos = qos
    this.#receipts = receipts
  }

  get isOpen(): boolean {
    return this.#open > 0
  }

  /** One more has to `settle`. */
  hold(): void {
    this.#open++
  }

  settle(): void {
    if (--this.#open === 0) this.#receipts.settled()
  }
}

/**
 * What a subscriber owes its broker: acknowledgements, in the order in which the messages came (MQTT 5.0, section 4.6). It outlives connections, as a
 * session does: what was not acknowledged is sent again, and of QoS 2 is known again.
 *
 *   QoS 1: PUBLISH --everybody has it--> PUBACK
 *   QoS 2: PUBLISH --everybody has it--> PUBREC --the broker: PUBREL--> PUBCOMP, the id is free
 */
export class Receipts {
  #stream: PacketStream | null = null
  readonly #onSettled: () => void
  #line: Receipt[] = []
  /** Of QoS 2, by their id: a message that comes again is the same. */
  readonly #unreleased = new Map<number, Receipt>()

  constructor(onSettled: () => void) {
    this.#onSettled = onSettled
  }

  /** Is there one that somebody holds? */
  get isWaiting(): boolean {
    return this.#line.length > 0
  }

  /** A new connection: the broker knows nothing of the last one unless it has kept the session. */
  begin(stream: PacketStream, has_session: boolean): void {
    this.#stream = stream
    this.#line = []
    if (!has_session) this.#unreleased.clear()
  }

  /** Who hands out the message settles it then. Null: it was handed out before. */
  take(id: number, qos: 1 | 2): Receipt | null {
    const known = qos === 2 ? this.#unreleased.get(id) : undefined
    const receipt = known ?? new Receipt(id, qos, this)
    this.#line.push(receipt)
    if (qos === 2) this.#unreleased.set(id, receipt)
    if (known === undefined) return receipt
    this.#send()
    return null
  }

  released(id: number): void {
    this.#unreleased.delete(id)
    this.#stream?.acknowledge(KIND.pubcomp, id)
  }

  settled(): void {
    this.#send()
    this.#onSettled()
  }

  /** Everything up to the first one that is open. */
  #send(): void {
    const line = this.#line
    let count = 0
    for (; count < line.length && !line[count]!.isOpen; count++) {
      const { id, qos } = line[count]!
      this.#stream?.acknowledge(qos === 1 ? KIND.puback : KIND.pubrec, id)
    }
    if (count === line.length) this.#line.length = 0
    else if (count > 0) line.splice(0, count)
  }
}
