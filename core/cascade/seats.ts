import type { Plan, PlanNode } from '../flow/plan.ts'
import type { Host } from './host.ts'
import { Mailbox } from './mailbox.ts'
import type { OpenWaves } from './open-waves.ts'
import type { Seat } from './seat.ts'

/** The seats of a flow on this thread, by node id, and those that a deploy replaced and whose body is still away. */
export class Seats {
  readonly #host: Host
  readonly #waves: OpenWaves
  readonly #present = new Map<string, Seat>()
  /** Those of ids that the plan has lost stay while a body is inside or waves of older plans may come to it: the id may come back. */
  readonly #mailboxes = new Map<string, Mailbox>()
  readonly #leaving = new Set<Seat>()
  #replaced: Seat[] = []

  constructor(host: Host, waves: OpenWaves) {
    this.#host = host
    this.#waves = waves
  }

  /** Present ones, and replaced ones whose body is still away. */
  *all(): Iterable<Seat> {
    for (const seat of this.#leaving) if (seat.active === null) this.#leaving.delete(seat)
    yield* this.#present.values()
    yield* this.#leaving
  }

  /** Also those before nodes that the plan has lost. */
  get mailboxes(): Iterable<Mailbox> {
    return this.#mailboxes.values()
  }

  /** The seats of a plan, by position. An unchanged node keeps its seat. */
  of(plan: Plan): Seat[] {
    const is_first = this.#mailboxes.size === 0
    const seats = plan.nodes.map(node => this.#seatFor(node))
    if (is_first) return seats
    const kept = new Set(seats)
    for (const [id, seat] of this.#present) {
      if (kept.has(seat)) continue
      this.#present.delete(id)
      this.#replace(seat)
    }
    if (this.#waves.size > 0) return seats
    for (const [id, mailbox] of this.#mailboxes) {
      if (!mailbox.busy && !this.#present.has(id)) this.#mailboxes.delete(id)
    }
    return seats
  }

  /** That of the newest plan. */
  present(id: string): Seat | undefined {
    return this.#present.get(id)
  }

  /** Those that the last plan replaced or removed. */
  takeReplaced(): Seat[] {
    const replaced = this.#replaced
    this.#replaced = []
    return replaced
  }

  #seatFor(node: PlanNode): Seat {
    const before = this.#present.get(node.id)
    if (before !== undefined && before.node.change_key === node.change_key) return before
    if (before !== undefined) this.#replace(before)
    let mailbox = this.#mailboxes.get(node.id)
    if (mailbox === undefined) this.#mailboxes.set(node.id, (mailbox = new Mailbox()))
    const seat = this.#host.newSeat(node, mailbox)
    this.#present.set(node.id, seat)
    return seat
  }

  #replace(seat: Seat): void {
    seat.current = false
    this.#replaced.push(seat)
    if (seat.active !== null) this.#leaving.add(seat)
  }
}
