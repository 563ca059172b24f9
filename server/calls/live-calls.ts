import { askedBy, type FlavorLookUp, NO_AMOUNTS } from '../../core/flow/resources.ts'
import { ServiceError } from '../../protocol/errors.ts'
import type { CallRequest } from '../../threads/lane/messages.ts'
import type { CallDesk } from './call-desk.ts'
import type { LostCall, RunCall } from './call-sink.ts'
import type { Grant, ResourceDesk, Waited } from './resource-desk.ts'

export interface LiveCallsParts {
  readonly desk: Pick<CallDesk, 'take'>
  readonly resources: Pick<ResourceDesk, 'claim' | 'release'>
  readonly flavorOf: FlavorLookUp
}

/** Calls of live nodes: what a node declares is claimed first, and released when its place is free or gone. */
export class LiveCalls {
  readonly #parts: LiveCallsParts

  constructor(parts: LiveCallsParts) {
    this.#parts = parts
  }

  /** `ended` is called when nothing of the call waits or runs any more, possibly before this returns. */
  take(request: CallRequest, lost: LostCall, ended: () => void): LiveCall {
    const call = new LiveCall(this.#parts, request, lost, ended)
    call.start()
    return call
  }
}

/**
 * One call of a live node, as its lane team holds it.
 *
 *   claiming --granted, or nothing to claim--> placed --ended--> over
 *   claiming --withdrawn--> over
 */
export class LiveCall {
  readonly #parts: LiveCallsParts
  readonly #request: CallRequest
  readonly #lost: LostCall
  readonly #ended: () => void
  #claim: Waited | null = null
  #call: RunCall | null = null
  #withdrawn = false

  constructor(parts: LiveCallsParts, request: CallRequest, lost: LostCall, ended: () => void) {
    this.#parts = parts
    this.#request = request
    this.#lost = lost
    this.#ended = ended
  }

  start(): void {
    const { resources, flavorOf } = this.#parts
    const { node } = this.#request
    try {
      const asked = askedBy(node, flavorOf)
      const { device } = node
      if (asked === null && device === null) return this.#place(null)
      this.#claim = resources.claim({ node: node.qualified, run: null, asked: asked ?? NO_AMOUNTS, device })
    } catch (error) {
      return this.#refused(error)
    }
    this.#claim.promise.then(
      grant => this.#place(grant),
      error => this.#refused(error),
    )
  }

  /** The lane is gone or gave the call up. A call that waits leaves the line; a body that runs is told to end, and ended after the grace period. */
  withdraw(reason: string): void {
    if (this.#withdrawn) return
    this.#withdrawn = true
    this.#claim?.cancel()
    this.#call?.end('interrupted', reason)
  }

  #place(grant: Grant | null): void {
    const { desk, resources } = this.#parts
    const ended = (): void => {
      if (grant !== null) resources.release(grant)
      this.#ended()
    }
    if (this.#withdrawn) return ended()
    this.#call = desk.take(this.#request, grant, this.#lost, ended)
  }

  #refused(error: unknown): void {
    const { code, detail } = error instanceof ServiceError ? error : new ServiceError('internal')
    this.#lost(code, detail)
    this.#ended()
  }
}
