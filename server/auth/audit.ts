import type { ErrorCode } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import type { AuditAction } from '../../protocol/words/audit-actions.ts'

/** An event of type `audit`: who did what to which thing, from where, with what result. It never carries a value, a password or a token. */
export interface AuditEntry {
  readonly action: AuditAction
  /** Who did it, signed in; null when nobody was, or the engine by itself. */
  readonly actor: string | null
  /** Kind and name, such as `flow:boiler`; null when there is no such thing: what was typed there may be a password. */
  readonly object: string | null
  /** The client's address. */
  readonly address: string
  readonly result: 'ok' | ErrorCode
}

const MINUTE_MS = 60_000

/** Tells who did what, as engine events that only superusers see. */
export class Audit {
  readonly #tell: (entry: Record<string, unknown>) => void
  readonly #now: () => number
  #minute = 0
  #told = 0
  #left_out = 0

  constructor(tell: (entry: Record<string, unknown>) => void, now: () => number) {
    this.#tell = tell
    this.#now = now
  }

  /** What somebody did who had the right to: each is told. Routes say it in their declaration (`audit`) instead. */
  done(entry: Omit<AuditEntry, 'result'>): void {
    this.#out({ ...entry, result: 'ok' })
  }

  /**
   * What anybody can cause: at most `limits.AUDIT_OPEN_PER_MIN`, so that a flood does not push older events out of the store. Those
   * left out are counted in `left_out` of the next one.
   */
  tried(entry: AuditEntry): void {
    const minute = Math.floor(this.#now() / MINUTE_MS)
    if (minute !== this.#minute) {
      this.#minute = minute
      this.#told = 0
    }
    if (this.#told++ < limits.AUDIT_OPEN_PER_MIN) this.#out(entry)
    else this.#left_out++
  }

  #out(entry: AuditEntry): void {
    const left_out = this.#left_out
    this.#left_out = 0
    this.#tell({ ...entry, ...(left_out === 0 ? {} : { left_out }) })
  }
}
