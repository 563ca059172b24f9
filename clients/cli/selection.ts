import type { Command } from 'commander'
import type { RunSelection } from '../client/runs/runs.ts'

/** Collects the values of a repeatable option. */
export const collected = (value: string, before: readonly string[] = []): string[] => [...before, value]

export interface SelectionOptions {
  readonly group?: string
  readonly tag?: string[]
  readonly status?: RunSelection['status']
  readonly since?: string
  readonly before?: string
}

/** Adds the argument and the options that select runs. */
export const addSelection = (command: Command): Command =>
  command
    .argument('[flow]', 'only runs of this flow')
    .option('--group <name>', 'only runs of this group')
    .option('--tag <name>', 'only runs with this tag; repeat it for runs that have all of the tags', collected)
    .option('--status <status>', 'only runs of this status: queued, running, succeeded, failed or cancelled')
    .option('--since <time>', 'only runs created at this time or later; RFC 3339 with an offset')
    .option('--before <time>', 'only runs created before this time')

export const selectionOf = (flow: string | undefined, options: SelectionOptions): RunSelection => {
  const { group, tag, status, since, before } = options
  return {
    ...(flow === undefined ? {} : { flow }),
    ...(group === undefined ? {} : { group }),
    ...(tag === undefined ? {} : { tag }),
    ...(status === undefined ? {} : { status }),
    ...(since === undefined ? {} : { since }),
    ...(before === undefined ? {} : { before }),
  }
}
