import { type ErrorCode, type ErrorPlace, ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'

/** Collects the refusals of a check, so that a user sees all of them at once. */
export class Refusals {
  readonly #places: ErrorPlace[] = []
  readonly #codes = new Set<ErrorCode>()
  #count = 0

  add(code: ErrorCode, loc: string, msg: string): void {
    this.#count++
    this.#codes.add(code)
    if (this.#places.length < limits.ERROR_PLACES) this.#places.push({ loc, msg })
  }

  /** One kind of refusal keeps its own code; several kinds together are a `validation`. */
  throwIfAny(): void {
    const first = this.#places[0]
    if (first === undefined) return
    const code = this.#codes.size === 1 ? [...this.#codes][0]! : 'validation'
    const more = this.#count === 1 ? '' : ` (and ${this.#count - 1} more)`
    throw new ServiceError(code, `${first.loc}: ${first.msg}${more}.`, { errors: this.#places })
  }
}
