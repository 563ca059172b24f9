import { EXIT, type ExitCode } from '../../protocol/settings.ts'
import type { ClientError } from '../client/client-error.ts'
import { inCommands } from './command-hints.ts'

/** Ends a command: a text for stderr that says what to do next, further lines, and the exit code. */
export class Failure extends Error {
  readonly exit_code: ExitCode
  readonly places: readonly string[]

  constructor(exit_code: ExitCode, text: string, places: readonly string[] = []) {
    super(text)
    this.name = 'Failure'
    this.exit_code = exit_code
    this.places = places
  }
}

export const usage = (text: string): Failure => new Failure(EXIT.usage, text)

export const noEngine = (text: string): Failure =>
  new Failure(EXIT.no_engine, `${text} Start one with "svc serve", or name one with --url.`)

/** The end of a command whose request has failed. */
export function failureOf(error: ClientError): Failure {
  const { kind, status, code, problem } = error
  const message = inCommands(code, error.message)
  if (kind === 'unreached') return noEngine(message)
  if (kind !== 'refused') return new Failure(EXIT.failed, message)
  // An error with a code has a hint already.
  const hint = code === null ? ' Sign in with "svc login <address>", or give SVC_TOKEN.' : ''
  if (status === 401) return new Failure(EXIT.not_signed_in, `${message}${hint}`)
  const places = (problem?.errors ?? []).map(({ loc, msg }) => `${placeOf(loc)}: ${msg}`)
  const isRefused = status === null || status < 500 || status === 503 || status === 507
  return new Failure(isRefused ? EXIT.refused : EXIT.failed, message, places)
}

/** The place of a request in words of the command line: `body.inputs.rate` is the input rate. */
const placeOf = (loc: string): string => loc.replace(/^body\.inputs\./, 'input ').replace(/^(body|query|path)\./, '')
