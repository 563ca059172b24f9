import { askedBy, type FlavorLookUp } from '../../core/flow/resources.ts'
import { ServiceError } from '../../protocol/errors.ts'
import type { CallRequest } from '../../threads/lane/messages.ts'
import type { CallDesk } from './call-desk.ts'
import type { LostCall } from './call-sink.ts'
import type { Grant, ResourceDesk } from './resource-desk.ts'

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

  take(request: CallRequest, lost: LostCall): void {
    const { desk, resources, flavorOf } = this.#parts
    const { node } = request
    const take = (grant: Grant | null): void => desk.take(request, grant, lost, () => grant && resources.release(grant))
    try {
      const asked = askedBy(node, flavorOf)
      if (asked === null) return take(null)
      resources.claim({ node: node.qualified, run: null, asked }).promise.then(
        grant => take(grant),
        error => lost(error.code, error.detail),
      )
    } catch (error) {
      const { code, detail } = error instanceof ServiceError ? error : new ServiceError('internal')
      lost(code, detail)
    }
  }
}
