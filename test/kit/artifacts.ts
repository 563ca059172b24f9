import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { limits } from '../../protocol/limits.ts'
import { EngineArtifacts, type EngineArtifactsParts } from '../../server/artifacts/artifacts.ts'

const folders: string[] = []

/** The artifacts of an engine without the engine: nothing is recorded or held unless a test says so. A folder of its own goes with the process. */
export function artifactsOf(parts: Partial<EngineArtifactsParts> = {}): EngineArtifacts {
  const data_dir = parts.data_dir ?? directoryOfProcess()
  return new EngineArtifacts({
    data_dir,
    max_bytes: 0,
    shared: false,
    volatile_bytes: limits.VOLATILE_BYTES_MIN,
    interval_s: 0,
    rule: { days: 0, bytes: 0 },
    recorded: async () => new Set(),
    held: async () => new Set(),
    isRunInFlight: () => false,
    swept: () => {},
    overBudget: () => {},
    failed: () => {},
    ...parts,
  })
}

/** A directory that goes with the process. */
export function directoryOfProcess(): string {
  const folder = mkdtempSync(join(tmpdir(), 'artifacts-'))
  if (folders.push(folder) === 1) {
    process.once('exit', () => {
      for (const one of folders) rmSync(one, { recursive: true, force: true })
    })
  }
  return folder
}
