import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { CodeDigest } from '../../../server/runs/code-digest.ts'
import { withoutGit } from '../../kit/git.ts'

function repository(t: TestContext) {
  const root = mkdtempSync(join(tmpdir(), 'code-digest-'))
  t.after(() => rmSync(root, { recursive: true, force: true }))
  const git = (...words: string[]): string =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.org', ...words], {
      cwd: root,
      encoding: 'utf8',
    })
  const write = (path: string, text: string): void => writeFileSync(join(root, path), text)
  git('init', '-q')
  mkdirSync(join(root, 'lib'))
  mkdirSync(join(root, '.svc'))
  const code = new CodeDigest(join(root, '.svc'), error => assert.fail(String(error)))
  return { root, git, write, code }
}

test('the digest is of the tracked sources by path and content, and of nothing else', { skip: withoutGit }, async t => {
  const { git, write, code, root } = repository(t)
  assert.equal(await code.read(), null)
  write('lib/a.ts', 'export const a = 1\n')
  write('b.py', 'b = 2\n')
  write('notes.md', 'anything\n')
  git('add', '.')
  git('commit', '-qm', 'first')
  const first = await code.read()
  assert.equal(first!.commit, git('rev-parse', 'HEAD').trim())
  write('untracked.ts', 'export const c = 3\n')
  assert.deepEqual(await code.read(), first)
  write('notes.md', 'something else\n')
  assert.deepEqual(await code.read(), { digest: first!.digest, commit: `${first!.commit}-dirty` })
  write('lib/a.ts', 'export const a = 2\n')
  const changed = await code.read()
  assert.notEqual(changed!.digest, first!.digest)
  write('lib/a.ts', 'export const a = 1\n')
  assert.equal((await code.read())!.digest, first!.digest)
  renameSync(join(root, 'b.py'), join(root, 'c.py'))
  git('add', '-A')
  assert.notEqual((await code.read())!.digest, first!.digest)
})

test('a change of one byte is seen however soon it follows', { skip: withoutGit }, async t => {
  const { git, write, code } = repository(t)
  const seen = new Set<string>()
  write('a.js', '00\n')
  git('add', '.')
  git('commit', '-qm', 'first')
  for (let turn = 0; turn < 20; turn++) {
    write('a.js', `${10 + turn}\n`)
    seen.add((await code.read())!.digest)
  }
  assert.equal(seen.size, 20)
})

test('without a repository there is no digest', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'no-repository-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  assert.equal(await new CodeDigest(folder, error => assert.fail(String(error))).read(), null)
})
