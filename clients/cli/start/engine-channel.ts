import type { ExitCode } from '../../../protocol/settings.ts'

/**
 * What the engine process tells its supervisor. The other way goes by arguments (how the engine before this one ended, or
 * nothing; then what follows `svc serve`) and signals; and when the channel closes, the engine ends.
 */
export type FromEngine =
  | {
      type: 'ready'
      url: string
      data_dir: string
      lines: readonly string[]
      notes: readonly string[]
      /** The first password is among the lines. */
      has_password: boolean
    }
  /** The start was refused; another try would be refused too. */
  | { type: 'refused'; text: string; exit_code: ExitCode }
