/** Programs of Python, for what only another implementation can tell. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import type { TestContext } from 'node:test'

/** Where the programs of an environment with these requirements are; null, with the reason said, where they cannot be had. */
export function pythonIn(t: TestContext, directory: string, requirements: string): string | null {
  const venv = join(directory, 'venv')
  for (const words of [
    ['python3', '-m', 'venv', venv],
    [join(venv, 'bin/pip'), 'install', '--quiet', '-r', requirements],
  ]) {
    const { status, stderr } = spawnSync(words[0]!, words.slice(1), { encoding: 'utf8' })
    if (status === 0) continue
    t.skip(`needs python3 with venv, and PyPI: "${words.join(' ')}" failed. ${stderr ?? ''}`.trim())
    return null
  }
  return join(venv, 'bin')
}

/** What it prints. */
export function printedBy(command: string, words: readonly string[], cwd: string): string {
  const { status, stdout, stderr, error } = spawnSync(command, words, {
    cwd,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  })
  // What failed stands before the warnings.
  const failures = stdout.slice(Math.max(0, stdout.indexOf('= FAILURES =')))
  assert.equal(status, 0, `${command} ${words[0]}\n${error ?? ''}${failures.slice(0, 8000)}${stderr.slice(-8000)}`)
  return stdout
}
