import type { Mailbox } from '../../core/cascade/mailbox.ts'
import type { RunNodeStatus } from '../../protocol/nouns/run.ts'
import type { NodeRecord } from './node-record.ts'

export interface NodeEndsParts {
  readonly records: readonly NodeRecord[]
  /** The mailbox of the node. */
  mailboxOf(record: NodeRecord): Mailbox
  now_us(): number
  /** The node has changed its status. */
  moved(record: NodeRecord): void
  /** The node has run, and has failed or is about to succeed. */
  settling(record: NodeRecord): void
  /** The node has its final status. */
  settled(record: NodeRecord): void
}

/** Finds the nodes of a run that have ended: nothing can wake them any more. */
export class NodeEnds {
  readonly #parts: NodeEndsParts
  /** Records without an open execution that are not settled yet. */
  readonly #ran = new Set<NodeRecord>()
  /** Bitset over positions: records with a final status. */
  readonly #ended: Uint32Array

  constructor(parts: NodeEndsParts) {
    this.#parts = parts
    this.#ended = new Uint32Array(Math.ceil(parts.records.length / 32))
  }

  move(record: NodeRecord, status: RunNodeStatus): void {
    record.move(status)
    this.#parts.moved(record)
  }

  conclude(record: NodeRecord, status: 'succeeded' | 'failed' | 'cached' | 'skipped' | 'cancelled'): void {
    this.move(record, status)
    const { position } = record.node
    this.#ended[position >>> 5]! |= 1 << (position & 31)
  }

  /** A node has no open execution. */
  ran(record: NodeRecord): void {
    if (!record.hasEnded) this.#ran.add(record)
  }

  /** Gives nodes that have run, and that nothing can wake any more, their final status. */
  settle(): void {
    for (const record of this.#ran) {
      if (!this.#isOver(record)) continue
      this.#ran.delete(record)
      if (!record.hasEnded) this.#settle(record)
    }
  }

  /** The run is over: gives every node its final status. */
  settleAll(cancelled: boolean): void {
    const now = this.#parts.now_us()
    for (const record of this.#parts.records) {
      if (record.hasEnded) continue
      if (record.executions > 0) record.finished_at ??= now
      if (cancelled) this.conclude(record, 'cancelled')
      else if (record.executions === 0 && record.error === null) this.conclude(record, 'skipped')
      else this.#settle(record)
    }
  }

  /** Whether no execution is open or waits, and no node above can wake it. Nodes above that were never woken become skipped. */
  #isOver(record: NodeRecord): boolean {
    if (record.hasEnded) return true
    if (record.open > 0) return false
    const { waiting, reserved } = this.#parts.mailboxOf(record)
    if (waiting.size > 0 || reserved !== null) return false
    const { upstream } = record.node
    for (let word = 0; word < upstream.length; word++) {
      let missing = upstream[word]! & ~this.#ended[word]!
      for (; missing !== 0; missing &= missing - 1) {
        const above = this.#parts.records[word * 32 + 31 - Math.clz32(missing & -missing)]!
        // Nodes of a loop can wake each other; the end of the run settles them.
        if (above.node.position >= record.node.position || above.executions > 0 || !this.#isOver(above)) return false
        this.conclude(above, 'skipped')
      }
    }
    return true
  }

  #settle(record: NodeRecord): void {
    this.#parts.settling(record)
    if (record.error === null) this.conclude(record, 'succeeded')
    else {
      // It failed before it began.
      if (record.status === 'pending') this.move(record, 'queued')
      this.conclude(record, 'failed')
    }
    record.finished_at = this.#parts.now_us()
    this.#parts.settled(record)
  }
}
