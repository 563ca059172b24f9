import { limits } from '../../../protocol/limits.ts'
import type { EncodedValue } from '../../memory/encoded.ts'
import type { Memory } from '../../memory/region.ts'
import { FLOW_ROW, type FlowTable } from '../flows.ts'
import { type Bounds, flowBounds } from '../queue/bounds.ts'
import type { IngressQueue } from '../queue/queue.ts'
import { REFUSED } from './refused.ts'
import type { Route } from './route.ts'

const { word } = FLOW_ROW

export interface ReservationsParts {
  memory: Memory
  flows: FlowTable
  queue: IngressQueue
  /** An inner publish found a reading flow at its hard cap, or no segment for it. Called under the publish word: count, do not throw. */
  dropped?: (flow: number, message: number) => void
  /** Children of inner publishes are dropped at the hard bound. */
  bounds?: Bounds
}

/** Reserves room in the queues of the flows that a value goes to. A reservation is kept in the row of its flow, under its publish word. */
export class Reservations {
  readonly #i32: Int32Array
  readonly #flows: FlowTable
  readonly #queue: IngressQueue
  readonly #dropped: (flow: number, message: number) => void
  readonly bounds: Bounds

  constructor({ memory, flows, queue, dropped, bounds }: ReservationsParts) {
    this.#i32 = memory.i32
    this.#flows = flows
    this.#queue = queue
    this.#dropped = dropped ?? (() => {})
    this.bounds = bounds ?? flowBounds
  }

  /** `released`: the value was scheduled, so what is scheduled must not hold it up. */
  backlogged(route: Route, released = false): boolean {
    const { downstream } = route
    for (let i = 0; i < downstream.length; i++) {
      const flow = downstream[i]!
      if (this.isOver(flow, 1) || (!released && this.#flows.isScheduleFull(flow, 1))) return true
    }
    return false
  }

  isOver(flow: number, factor: number): boolean {
    return this.#flows.isOver(flow, factor * this.bounds.items, factor * this.bounds.bytes)
  }

  /** Room in every queue that the value goes to, or a refusal. */
  reserveAll(route: Route, value: EncodedValue, ref: number): number {
    const queue_ref = value.length > limits.QUEUE_INLINE_BYTES ? ref : 0
    if (route.queued && !this.reserve(route.flow, value, queue_ref, 0)) return REFUSED.queue_full
    for (let i = 0; i < route.foreign.length; i++) {
      if (!this.reserve(route.foreign[i]!, value, queue_ref, 0)) return REFUSED.queue_full
    }
    return 0
  }

  reserveOrDrop(route: Route, value: EncodedValue, ref: number): void {
    const queue_ref = value.length > limits.QUEUE_INLINE_BYTES ? ref : 0
    for (let i = 0; i < route.foreign.length; i++) {
      const flow = route.foreign[i]!
      if (!this.isOver(flow, this.bounds.hard_factor) && this.reserve(flow, value, queue_ref, 0)) continue
      this.forget(flow)
      this.drop(flow, route.message)
    }
  }

  reserve(flow: number, value: EncodedValue, ref: number, group: number): boolean {
    const room = this.#queue.room(flow, value, ref)
    if (room === 0) return false
    const row = this.#flows.row(flow)
    this.#i32[row + word.before] = this.#i32[row + word.appended]!
    this.#i32[row + word.room] = room
    this.#i32[row + word.group] = group
    return true
  }

  /** Clears the reservation: the current publish has no item there, or not yet; a refused publish may have left one. */
  forget(flow: number): void {
    const row = this.#flows.row(flow)
    this.#i32[row + word.before] = this.#i32[row + word.appended]! - 1
  }

  /** True until the item of the publish at hand is appended; never for a child that is dropped. */
  isReserved(flow: number): boolean {
    const row = this.#flows.row(flow)
    return this.#i32[row + word.before] === this.#i32[row + word.appended]
  }

  /** The flow has no room for what it reads of an inner publish. */
  drop(flow: number, message: number): void {
    this.#flows.countDropped(flow)
    this.#dropped(flow, message)
  }
}
