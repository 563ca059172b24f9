import { spawnSync } from 'node:child_process'

/** For the options of a test that needs git: why it cannot run here, or false. */
export const withoutGit: string | false =
  spawnSync('git', ['--version'], { stdio: 'ignore' }).status === 0 ? false : 'needs git, which is not installed'
