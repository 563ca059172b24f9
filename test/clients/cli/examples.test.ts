import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { describe, test } from 'node:test'
import type { Command } from 'commander'
import { silentProgram } from '../../kit/silent-program.ts'
import { directoryFor } from '../../kit/spawned.ts'

const leaves = (command: Command): Command[] =>
  command.commands.flatMap(each => (each.commands.length > 0 ? leaves(each) : [each]))

const pathOf = (command: Command): string =>
  command.parent === null ? '' : `${pathOf(command.parent)} ${command.name()}`.trim()

function examplesOf(command: Command): string[] {
  let text = ''
  command.configureOutput({ writeOut: part => (text += part) })
  command.outputHelp()
  const [, after = ''] = text.split(/^Examples?:$/m)
  return after.split('\n').flatMap(line => (/^ {2}(?:.* )?svc /.test(line) ? [line.trim()] : []))
}

/** What a shell hands to `svc`, word by word; what it would write goes into a directory of the test. */
function wordsOf(line: string, cwd: string): string[] {
  const script = `svc() { printf '%s\\0' "$@" > words; }\n${line.replaceAll('~', cwd)} 2>/dev/null || true`
  return execFileSync('bash', ['-c', `${script}\ncat words`], { cwd })
    .toString()
    .split('\0')
    .slice(0, -1)
}

describe('the examples in the help', () => {
  for (const command of leaves(silentProgram())) {
    const path = pathOf(command)
    test(`of svc ${path} are understood as they stand`, async t => {
      const examples = examplesOf(command)
      assert.ok(examples.length > 0, 'it has one')
      for (const line of examples) {
        const argv = wordsOf(line, directoryFor(t))
        const program = silentProgram()
        let ran = ''
        for (const leaf of leaves(program)) {
          leaf.action(() => {
            ran = pathOf(leaf)
          })
          leaf.exitOverride().configureOutput({ writeErr: () => {} })
        }
        await program.parseAsync(argv, { from: 'user' })
        assert.notEqual(ran, '', line)
        // Later ones may say how to go on.
        if (line === examples[0]) assert.equal(ran, path)
      }
    })
  }
})
