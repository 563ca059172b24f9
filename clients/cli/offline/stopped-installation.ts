import type { Command } from 'commander'
import { EXIT } from '../../../protocol/settings.ts'
import { problemText } from '../../client/problem-text.ts'
import type { Context, EngineOptions } from '../context.ts'
import { Failure, usage } from '../failure.ts'

interface Place {
  data_dir: string | null
  global: boolean
  cwd: string
  environment: Readonly<Record<string, string | undefined>>
}

export interface Finding {
  file: string
  table: string | null
  row: string | null
  reason: string
}

export interface BackedUp {
  version: string
  taken_at: string
  database_bytes: number
  artifacts: number
  artifact_bytes: number
}

/** The part of `server/installation/stopped.ts` that is needed here; commands may not import the server. */
interface Stopped {
  verifyInstallation(place: Place): Promise<{
    data_dir: string
    schema: number
    rows: Readonly<Record<string, number>>
    quarantined: number
    findings: readonly Finding[]
    found: number
  }>
  repairInstallation(
    place: Place,
    out_dir: string,
  ): Promise<{ out_dir: string; files: Readonly<Record<string, number>>; unreadable: number }>
  backupInstallation(place: Place, file: string): Promise<BackedUp & { file: string }>
  restoreInstallation(place: Place, file: string): Promise<BackedUp & { data_dir: string }>
}

/** Works on the installation of the command while no engine runs on it. Throws a Failure. */
export async function withStopped<Result>(
  context: Context,
  command: Command,
  work: (stopped: Stopped, place: Place) => Promise<Result>,
): Promise<Result> {
  const { url, dataDir, global } = command.optsWithGlobals<EngineOptions>()
  if (url !== undefined) throw usage(`svc ${command.name()} reads files of an installation: leave --url out.`)
  if (global && dataDir !== undefined) throw usage('Give --global or --data-dir, not both.')
  const { cwd, environment } = context
  const place = { data_dir: dataDir ?? (environment['DATA_DIR'] || null), global: global ?? false, cwd, environment }
  const { stopped } = (await import('../../../server/main.ts')) as { stopped(): Promise<Stopped> }
  try {
    return await work(await stopped(), place)
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'ServiceError') throw error
    throw new Failure(EXIT.refused, problemText((error as unknown as { toJSON(): never }).toJSON()))
  }
}
