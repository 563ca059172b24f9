import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { originCommit } from '../../../clients/cli/origin-commit.ts'
import type { CreateRun } from '../../../protocol/nouns/run.ts'
import { ApiDouble } from '../../kit/api-double.ts'
import { withoutGit } from '../../kit/git.ts'
import { runId, runOf } from '../../kit/run-answers.ts'
import { directoryFor, Spawned } from '../../kit/spawned.ts'

const git = (folder: string, ...words: string[]): string =>
  execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.com', ...words], {
    cwd: folder,
    encoding: 'utf8',
  }).trim()

/** A repository with one commit of one file. */
function repository(t: TestContext): { folder: string; commit: string } {
  const folder = directoryFor(t)
  git(folder, 'init', '--quiet')
  writeFileSync(join(folder, 'lib.ts'), 'export const a = 1\n')
  git(folder, 'add', '.')
  git(folder, 'commit', '--quiet', '--message', 'one')
  return { folder, commit: git(folder, 'rev-parse', 'HEAD') }
}

const RUNNABLE = { flow: 'boiler', version: 1, commit: 'c', content_digest: 'd', code_digest: null }

describe('the commit that a run is stamped with', { skip: withoutGit }, () => {
  test('is that of the repository around the folder; what git does not track changes nothing', t => {
    const { folder, commit } = repository(t)
    writeFileSync(join(folder, 'notes.txt'), 'new')
    assert.equal(originCommit(folder), commit)
  })

  test('says so when a tracked file has changed, in the index or in the folder', t => {
    const { folder, commit } = repository(t)
    writeFileSync(join(folder, 'lib.ts'), 'export const a = 2\n')
    assert.equal(originCommit(folder), `${commit}-dirty`)
    git(folder, 'add', '.')
    assert.equal(originCommit(folder), `${commit}-dirty`)
  })

  test('is none without a repository, and before the first commit', t => {
    const folder = directoryFor(t)
    assert.equal(originCommit(folder), null)
    git(folder, 'init', '--quiet')
    assert.equal(originCommit(folder), null)
  })

  for (const argv of [
    ['run', 'boiler', '--no-wait'],
    ['sweep', 'boiler', '--param', 'a=1', '--no-wait'],
  ]) {
    test(`goes out with svc ${argv[0]}, together with who started it`, async t => {
      const { folder, commit } = repository(t)
      const api = await ApiDouble.start(t, {
        'GET /runs/flows/boiler': { answer: RUNNABLE },
        'POST /runs/flows/boiler': { answer: runOf(1) },
        [`GET /runs/${runId(1)}`]: { answer: runOf(1) },
      })
      const run = Spawned.svc(t, { argv: [...argv, '--url', api.url], cwd: folder })
      assert.equal((await run.ended).code, 0, run.stderr)
      const { cause, origin_commit } = api.requests.at(-1)!.body as CreateRun
      assert.deepEqual([cause, origin_commit], ['cli', commit])
    })
  }
})
