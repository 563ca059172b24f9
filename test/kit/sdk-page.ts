import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './sources.ts'

/** The files that docs/sdk.md shows: the fences that name one. */
export function sdkBlocks(): { path: string; source: string }[] {
  const page = readFileSync(join(ROOT, 'docs/sdk.md'), 'utf8')
  return [...page.matchAll(/^```ts sdk=(\S+)\n([\s\S]*?)^```/gm)].map(([, path, source]) => ({
    path: path!,
    source: source!,
  }))
}
