import type { LiveBounds } from './calls/bounds.ts'
import type { Config } from './config.ts'
import type { Engine } from './engine.ts'
import type { Installation, MintedToken } from './installation/installation.ts'
import type { Log } from './observe/serve-log.ts'
import type { OpenedStore } from './store/front/open-store.ts'

/**
 * The seam between the process (`main.ts`: installation, lock, token file, signals) and what runs in it (`build.ts`, which
 * puts the engine together). `build.ts` exports `startEngine: StartEngine`.
 */
export interface StartOptions {
  readonly config: Config
  readonly installation: Installation
  readonly log: Log
  /** The store, when it is being opened while the rest loads. */
  readonly opening?: Promise<OpenedStore>
  /** The machine's clock, milliseconds since 1970. */
  readonly wall_ms?: () => number
  /** What bodies of batch runs print is printed, too. */
  readonly prints?: boolean
  /** The engine's own when absent. */
  readonly bounds?: LiveBounds
  /** Ends the process: the engine cannot go on. The supervisor starts a fresh one; what was acknowledged is on the disk. */
  readonly onFatal: (error: Error) => void
}

/** Resolves once the address answers. Calls `installation.makeAdmin` when the engine has no user yet. */
export type StartEngine = (options: StartOptions) => Promise<RunningEngine>

export interface RunningEngine {
  /** `http://127.0.0.1:8700`, no slash at its end. */
  readonly url: string
  readonly engine: Engine
  /**
   * Starts the threads that run nodes, once. The first answers need none of them, and what is published meanwhile waits in its
   * queue; while they load they take the processor from whoever is to answer.
   */
  begin(): void
  /** An access token of the admin, for the token file. */
  mintToken(): Promise<MintedToken>
  /** Called when that token has ended before its time: the admin's password changed, or another account is the first superuser now. */
  onTokenEnded(handler: () => void): void
  /** Ends what runs, makes everything durable, stops listening. */
  close(): Promise<void>
}
