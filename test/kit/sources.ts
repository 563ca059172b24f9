import { readdirSync } from 'node:fs'
import { join, relative } from 'node:path'

export const ROOT = join(import.meta.dirname, '..', '..')

const NOT_OURS = /(^|\/)(node_modules|dist|\.git|\.svc)(\/|$)/

/** Paths from the root of the files under `folder` whose name ends with `ending`, in alphabetical order. */
export function filesUnder(folder: string, ending: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile() && entry.name.endsWith(ending))
    .map(entry => relative(ROOT, join(entry.parentPath, entry.name)))
    .filter(file => !NOT_OURS.test(file))
    .sort()
}
