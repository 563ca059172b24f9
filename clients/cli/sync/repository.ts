import { usage } from '../failure.ts'
import { git } from '../git.ts'

/** The git repository that holds the code of flows. */
export interface Repository {
  readonly root: string
  /** The address of its remote `origin`, without a password; without such a remote, the path of its root. */
  readonly address: string
  readonly commit: string
  readonly isDirty: boolean
  /** Paths from the root. */
  readonly tracked: ReadonlySet<string>
}

/** Throws a Failure without a repository, without git, and before the first commit: runs could not record their code. */
export function repositoryAt(folder: string): Repository {
  const root = git(folder, 'rev-parse', '--show-toplevel')
  if (root === null)
    throw usage(
      `${folder} is not in a git repository. Runs record a commit, and the stage cache finds changed code with git. Create a repository with "git init".`,
    )
  const commit = git(root, 'rev-parse', '--verify', 'HEAD')
  if (commit === null) throw usage(`The repository ${root} has no commit yet: create the first one with "git commit".`)
  return {
    root,
    address: withoutSecrets(git(root, 'config', '--get', 'remote.origin.url') ?? root),
    commit,
    isDirty: git(root, 'status', '--porcelain', '--untracked-files=no') !== '',
    tracked: new Set((git(root, 'ls-files', '-z') ?? '').split('\0')),
  }
}

/** An address of http may carry a password or token. */
function withoutSecrets(address: string): string {
  const url = URL.parse(address)
  if (url === null || !/^https?:$/.test(url.protocol)) return address
  url.username = ''
  url.password = ''
  return url.href
}
