import type { FlowTable } from '../flows.ts'
import type { Route } from './route.ts'

/** The publish words of the flows that one publish goes to: a thread holds all of them while it writes, or none. */
export class PublishWords {
  readonly #flows: FlowTable
  readonly #owner: number

  constructor(flows: FlowTable, owner: number) {
    this.#flows = flows
    this.#owner = owner
  }

  /** In ascending order of flows, so that no two publishers wait for each other. */
  lock(route: Route, patience_ms: number): boolean {
    const { flow, foreign } = route
    if (foreign.length === 0) return this.#flows.lockPublish(flow, this.#owner, patience_ms)
    let place = 0
    while (place < foreign.length && foreign[place]! < flow) place++
    for (let i = 0; i <= foreign.length; i++) {
      const next = i < place ? foreign[i]! : i === place ? flow : foreign[i - 1]!
      if (this.#flows.lockPublish(next, this.#owner, patience_ms)) continue
      for (let held = 0; held < i; held++) {
        this.#flows.unlockPublish(
          held < place ? foreign[held]! : held === place ? flow : foreign[held - 1]!,
          this.#owner,
        )
      }
      return false
    }
    return true
  }

  /** `flows` ascending. Each word that is not free at once halves the remaining patience. */
  lockAll(flows: readonly number[], patience_ms: number): boolean {
    for (let place = 0; place < flows.length; place++) {
      if (this.#flows.tryLockPublish(flows[place]!, this.#owner)) continue
      patience_ms /= 2
      if (this.#flows.lockPublish(flows[place]!, this.#owner, patience_ms)) continue
      for (let held = 0; held < place; held++) this.#flows.unlockPublish(flows[held]!, this.#owner)
      return false
    }
    return true
  }

  unlock(route: Route): void {
    for (let i = 0; i < route.foreign.length; i++) this.#flows.unlockPublish(route.foreign[i]!, this.#owner)
    this.#flows.unlockPublish(route.flow, this.#owner)
  }

  /** The last unlock is a full barrier: it orders the appends before the loads of owner, marks and sleepers. */
  unlockWithBarrier(route: Route): void {
    for (let i = 0; i < route.foreign.length; i++) this.#flows.unlockPublish(route.foreign[i]!, this.#owner)
    this.#flows.unlockPublishWithBarrier(route.flow, this.#owner)
  }

  /** As `unlockWithBarrier`. */
  unlockAll(flows: readonly number[]): void {
    const last = flows.length - 1
    for (let place = 0; place < last; place++) this.#flows.unlockPublish(flows[place]!, this.#owner)
    this.#flows.unlockPublishWithBarrier(flows[last]!, this.#owner)
  }
}
