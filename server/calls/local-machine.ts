import { totalmem } from 'node:os'
import { limits } from '../../protocol/limits.ts'
import type { Config } from '../config.ts'

export interface Machine {
  readonly cpus: number
  readonly gpus: number
  readonly ram_mb: number
}

/** What the books count on the engine's machine: cores and cards as configured, memory as the system or its container gives it. */
export function localMachine({ cpus, gpus }: Pick<Config, 'cpus' | 'gpus'>): Machine {
  return { cpus, gpus: Math.min(gpus, limits.MACHINE_CARDS), ram_mb: memoryMb() }
}

export function memoryMb(): number {
  const container = process.constrainedMemory()
  const bytes = container > 0 ? Math.min(container, totalmem()) : totalmem()
  return Math.floor(bytes / 2 ** 20)
}
