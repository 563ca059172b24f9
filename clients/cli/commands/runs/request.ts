import type { Command } from 'commander'
import type { CreateRun } from '../../../../protocol/nouns/run.ts'
import { numberOf, wholeOf } from '../../counts.ts'

/** What `svc run` and `svc sweep` may say of each run. */
export interface RequestOptions {
  readonly seed?: number
  readonly timeout?: number
  readonly cache: boolean
  readonly group?: string
  readonly key?: string
}

/** Adds the options that both have. `texts`: what those mean that are not the same for one run and for many. */
export const addRequestOptions = (
  command: Command,
  texts: { readonly timeout: string; readonly group: string; readonly key: string },
): Command =>
  command
    .option('--seed <number>', 'recorded, and given to an input named seed', wholeOf('--seed'))
    .option('--timeout <seconds>', texts.timeout, numberOf('--timeout'))
    .option('--no-cache', 'run every node, whatever the stage cache holds')
    .option('--group <name>', texts.group)
    .option('--key <text>', texts.key)

export const requestOf = (
  options: RequestOptions,
  inputs: Record<string, unknown> | undefined,
  origin_commit: string | null,
): CreateRun => ({
  cause: 'cli',
  ...(origin_commit === null ? {} : { origin_commit }),
  ...(inputs === undefined ? {} : { inputs }),
  ...(options.seed === undefined ? {} : { seed: options.seed }),
  ...(options.timeout === undefined ? {} : { timeout: options.timeout }),
  ...(options.cache ? {} : { no_cache: true }),
  ...(options.group === undefined ? {} : { group: options.group }),
  ...(options.key === undefined ? {} : { idempotency_key: options.key }),
})
