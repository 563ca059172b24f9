import { git } from './git.ts'

/**
 * The commit of the repository that holds a folder, `<commit>-dirty` when a tracked file differs from it; null without a
 * repository, without git, and before the first commit.
 */
export function originCommit(folder: string): string | null {
  const words = ['--no-optional-locks', 'status', '--porcelain=v2', '--branch', '--untracked-files=no']
  const lines = git(folder, ...words)?.split('\n') ?? []
  const commit = lines.map(line => /^# branch\.oid ([0-9a-f]+)$/.exec(line)?.[1]).find(found => found !== undefined)
  if (commit === undefined) return null
  return lines.every(line => line.startsWith('# ')) ? commit : `${commit}-dirty`
}
