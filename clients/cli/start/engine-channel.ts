import type { ExitCode } from '../../../protocol/settings.ts'

/**
 * Messages of the engine process to its supervisor. The supervisor uses arguments (how the engine before this one ended, or
 * nothing; then the arguments of `svc serve`) and signals. When the channel closes, the engine ends.
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
  /** The start was refused, and would be refused again. */
  | { type: 'refused'; text: string; exit_code: ExitCode }
