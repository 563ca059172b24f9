import type { Config } from './config.ts'
import type { Engine } from './engine.ts'
import type { Installation } from './installation.ts'
import type { Log } from './serve-log.ts'

/**
 * The seam between the process (`main.ts`: installation, lock, token file, signals) and what runs in it (`build.ts`, which
 * puts the engine together). `build.ts` exports `startEngine: StartEngine`.
 */
export interface StartOptions {
  readonly config: Config
  readonly installation: Installation
  readonly log: Log
}

/** Resolves once the address answers. Calls `installation.makeAdmin` when the engine has no user yet. */
export type StartEngine = (options: StartOptions) => Promise<RunningEngine>

export interface RunningEngine {
  /** `http://127.0.0.1:8700`, no slash at its end. */
  readonly url: string
  readonly engine: Engine
  /** An access token of the admin, for the token file. */
  mintToken(): Promise<MintedToken>
  /** Ends what runs, makes everything durable, stops listening. */
  close(): Promise<void>
}

export interface MintedToken {
  readonly token: string
  readonly lifetime_s: number
}
