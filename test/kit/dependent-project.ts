import { cpSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './sources.ts'

/** Makes a project of the directory that depends on the package: a copy, as npm makes one, with what it needs beside it. Returns the directory. */
export function dependentProject(directory: string): string {
  const packages = join(directory, 'node_modules')
  const copy = join(packages, 'flow-engine')
  for (const part of ['package.json', 'protocol', 'clients/client', 'clients/cli/start/stripped-sources.js'])
    cpSync(join(ROOT, part), join(copy, part), { recursive: true })
  mkdirSync(join(packages, '@types'))
  for (const name of ['typebox', 'ws', 'hyparquet', 'hyparquet-writer', '@types/node', '@types/ws'])
    symlinkSync(join(ROOT, 'node_modules', name), join(packages, name))
  return directory
}
