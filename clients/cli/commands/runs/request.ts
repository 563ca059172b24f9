import type { Command } from 'commander'
import type { CreateRun } from '../../../../protocol/nouns/run.ts'
import { numberOf, wholeOf } from '../../counts.ts'
import { collected } from '../../selection.ts'

/** Options of `svc run` and `svc sweep` for each run. */
export interface RequestOptions {
  readonly seed?: number
  readonly timeout?: number
  readonly cache: boolean
  readonly group?: string
  readonly key?: string
  readonly tag?: string[]
  readonly note?: string
}

/** Adds the options that both have. `texts`: descriptions that differ between one run and many. */
export const addRequestOptions = (
  command: Command,
  texts: {
    readonly timeout: string
    readonly group: string
    readonly key: string
    readonly tag: string
    readonly note: string
  },
): Command =>
  command
    .option('--seed <number>', 'the seed to record; also the value of an input named seed', wholeOf('--seed'))
    .option('--timeout <seconds>', texts.timeout, numberOf('--timeout'))
    .option('--no-cache', 'run every node, and do not use the stage cache')
    .option('--group <name>', texts.group)
    .option('--key <text>', texts.key)
    .option('--tag <name>', texts.tag, collected)
    .option('--note <text>', texts.note)

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
  ...(options.tag === undefined ? {} : { tags: options.tag }),
  ...(options.note === undefined ? {} : { note: options.note }),
  ...(options.key === undefined ? {} : { idempotency_key: options.key }),
})
