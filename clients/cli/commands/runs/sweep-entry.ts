import type { CreateRun, Run, RunSummary } from '../../../../protocol/nouns/run.ts'

/** One combination of a sweep. */
export interface Entry {
  readonly request: CreateRun
  /** Its newest run; null while there is none. */
  run: Run | RunSummary | null
  /** Started by this command; on a dry run, to be started. */
  is_started: boolean
  /** Values by the fields of --columns. */
  columns?: Readonly<Record<string, unknown>> | undefined
}
