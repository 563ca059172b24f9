import { limits } from '../../../protocol/limits.ts'
import type { Admission, Admissions } from '../../auth/gatekeeper.ts'
import type { Caller, WorkerPrincipal } from '../../auth/principal.ts'
import type { Tokens } from '../../auth/tokens.ts'

/**
 * Who may attach as a worker: a superuser, and a process that the engine started, with a token that is good for one attachment. Such
 * a token is kept in memory until it is used, so nothing of it has to be verified.
 */
export class WorkerDoor implements Admissions<Caller | WorkerPrincipal> {
  readonly #tokens: Tokens
  readonly #callers: Admissions<Caller>
  readonly #now: () => number
  /** By token. */
  readonly #expected = new Map<string, Admission<WorkerPrincipal>>()

  /** The clock is in milliseconds, and never jumps: a process has so long to dial. */
  constructor(tokens: Tokens, callers: Admissions<Caller>, now: () => number) {
    this.#tokens = tokens
    this.#callers = callers
    this.#now = now
  }

  async mint(id: string): Promise<string> {
    const expires_ms = this.#now() + limits.WORKER_TOKEN_LIFETIME_S * 1000
    const token = await this.#tokens.mint('worker', id, '', limits.WORKER_TOKEN_LIFETIME_S)
    // One that has attached is ended by whoever waits for it.
    this.#expected.set(token, { principal: { kind: 'worker', id }, expires_ms, holds: () => true })
    return token
  }

  /** Its process is gone: the token is good for nothing any more. */
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
