import { EXIT, type ExitCode } from '../../protocol/settings.ts'

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

export const notSignedIn = (text: string): Failure =>
  new Failure(EXIT.not_signed_in, `${text} Sign in with "svc login <address>", or give SVC_TOKEN.`)
