import type { ErrorCode, Problem } from '../../protocol/errors.ts'

/**
 * Why a call came to nothing:
 *
 *   refused       the engine answered with a problem, which is inside
 *   unreached     nothing listens there, or no connection was made in time; nothing was sent
 *   lost          the connection broke off, or no answer came in time; whether the engine acted is not known
 *   not_an_engine something answered that is no engine
 *   lacking       an optional package that it needs is not installed; nothing was sent
 */
export type ClientErrorKind = 'refused' | 'unreached' | 'lost' | 'not_an_engine' | 'lacking'

/** What every method of the client throws. The message is a sentence for people; where there is something to do next, it says so. */
export class ClientError extends Error {
  readonly kind: ClientErrorKind
  /** HTTP status of the answer; null when none came. */
  readonly status: number | null
  readonly problem: Problem | null

  constructor(
    kind: ClientErrorKind,
    text: string,
    options: { status?: number; problem?: Problem; cause?: unknown } = {},
  ) {
    super(text, options.cause === undefined ? {} : { cause: options.cause })
    this.name = 'ClientError'
    this.kind = kind
    this.status = options.status ?? null
    this.problem = options.problem ?? null
  }

  /** Of the problem; null when there is none. */
  get code(): ErrorCode | null {
    return this.problem?.code ?? null
  }
}
