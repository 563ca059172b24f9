import { limits } from '../../../protocol/limits.ts'
import type { Admission, Admissions } from '../../auth/gatekeeper.ts'
import type { Caller, WorkerPrincipal } from '../../auth/principal.ts'
import type { Tokens } from '../../auth/tokens.ts'

/**
 * Who may attach as a worker: a superuser, and a process that the engine started, with a token that is good for one attachment. Such
 * a token is kept in memory until it is used, so it needs no signature.
 */
export class WorkerDoor implements Admissions<Caller | WorkerPrincipal> {
  readonly #tokens: Tokens
  readonly #callers: Admissions<Caller>
  readonly #now: () => number
  /** By token. */
  readonly #expected = new Map<string, Admission<WorkerPrincipal>>()

  /** `now_ms` is the steady clock, which bounds the time that a process has to connect. */
  constructor(tokens: Tokens, callers: Admissions<Caller>, now: () => number) {
    this.#tokens = tokens
    this.#callers = callers
    this.#now = now
  }

  async mint(id: string): Promise<string> {
    const expires_ms = this.#now() + limits.WORKER_TOKEN_LIFETIME_S * 1000
    const token = await this.#tokens.mint('worker', id, '', limits.WORKER_TOKEN_LIFETIME_S)
    // After it has attached, the pool that waits for it ends it.
    this.#expected.set(token, { principal: { kind: 'worker', id }, expires_ms, holds: () => true })
    return token
  }

  /** Its process is gone: removes the token. */
  forget(id: string): void {
    for (const [token, { principal }] of this.#expected) if (principal.id === id) this.#expected.delete(token)
  }

  known(token: string): Admission<Caller | WorkerPrincipal> | null {
    const expected = this.#expected.get(token)
    if (expected === undefined) return this.#callers.known(token)
    this.#expected.delete(token)
    return this.#now() < expected.expires_ms ? expected : null
  }

  admit(token: string): Promise<Admission<Caller>> {
    return this.#callers.admit(token)
  }
}
