import type { Command } from 'commander'
import { Client } from '../client/client.ts'
import { type FoundEngine, findEngine } from './find-engine.ts'
import type { Interrupts } from './interrupts.ts'
import type { Output } from './output/output.ts'

/** What a command works with. */
export interface Context {
  /** What follows `svc`. */
  readonly argv: readonly string[]
  readonly output: Output
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  readonly stdin: NodeJS.ReadStream
  readonly interrupts: Interrupts
}

/** The options that every command takes. */
export interface EngineOptions {
  readonly url?: string
  readonly dataDir?: string
  readonly global?: boolean
}

export function engineOf(context: Context, command: Command): FoundEngine {
  const { url, dataDir, global } = command.optsWithGlobals<EngineOptions>()
  return findEngine({
    environment: context.environment,
    cwd: context.cwd,
    ...(url === undefined ? {} : { url }),
    ...(dataDir === undefined ? {} : { dataDir }),
    ...(global === undefined ? {} : { global }),
  })
}

export const connect = (context: Context, command: Command): Client => new Client(engineOf(context, command))
