import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { ApiDouble } from '../../kit/api-double.ts'
import { ROOT } from '../../kit/sources.ts'
import { directoryFor, Spawned } from '../../kit/spawned.ts'
import { svcInProcess } from '../../kit/svc-in-process.ts'

const items = (...names: string[]) => ({ answer: { items: names.map(name => ({ name })), count: names.length } })
const SCRIPT = {
  'GET /flows': items('machine', 'host'),
  'GET /messages': items('machine.alarm', 'host.load'),
  'GET /flows/machine': { answer: { document: { nodes: [{ id: 'alarm' }, { id: 'smooth' }] } } },
}

describe('what may stand in place of the last word', () => {
  const cases: [string[], string[]][] = [
    [['flo'], ['flows']],
    [
      ['flows', 'pu'],
      ['put', 'purge'],
    ],
    [['flows', 'get', 'm'], ['machine']],
    [['flows', 'list', '--j'], ['--json']],
    [
      ['--data-dir', 'flows', 'flows', 'get', ''],
      ['machine', 'host'],
    ],
    [['nodes', 'show', 'mach'], ['machine.']],
    [['nodes', 'show', 'machine.al'], ['machine.alarm']],
    [['publish', 'ho'], ['host.load']],
    [
      ['tail', 'host', 'mach'],
      ['machine', 'machine.alarm'],
    ],
    [['publish', 'host.load', ''], []],
  ]
  for (const [words, found] of cases) {
    test(`of svc ${words.join(' ')}`, async t => {
      const { url } = await ApiDouble.start(t, SCRIPT)
      const { stdout } = await svcInProcess(t, ['complete', '--', ...words], { url })
      assert.deepEqual(stdout.split('\n').filter(Boolean).sort(), found.sort())
    })
  }

  test('is nothing, and no error, where no engine answers', async t => {
    const { code, stdout, stderr } = await svcInProcess(t, ['complete', '--', 'flows', 'get', ''], {
      url: 'http://127.0.0.1:9',
    })
    assert.deepEqual([code, stdout, stderr], [0, '', ''])
  })
})

/** How each shell is made to complete `svc flows get ma`, without a person at it. */
const SHELLS: Record<string, string[]> = {
  bash: [
    '-c',
    `source <(svc completion bash); COMP_WORDS=(svc flows get ma); COMP_CWORD=3; _svc; echo "\${COMPREPLY[@]}"`,
  ],
  zsh: [
    '-fc',
    `compdef() { }; compadd() { print -l -- \${(P)2} }; eval "$(svc completion zsh)"; words=(svc flows get ma); CURRENT=4; _svc`,
  ],
  fish: ['--no-config', '-c', 'svc completion fish | source; complete -C "svc flows get ma"'],
}

describe('a shell', () => {
  for (const [shell, argv] of Object.entries(SHELLS)) {
    const isThere = spawnSync(shell, ['--version']).error === undefined
    test(`${shell} completes the name of a flow`, { skip: !isThere && `${shell} is not installed` }, async t => {
      const { code, stdout, stderr } = await completed(t, shell, argv)
      assert.deepEqual([code, stdout.trim(), stderr], [0, 'machine', ''])
    })
  }
})

async function completed(t: TestContext, shell: string, argv: string[]) {
  const cwd = directoryFor(t)
  symlinkSync(join(ROOT, 'svc'), join(cwd, 'svc'))
  const { url } = await ApiDouble.start(t, SCRIPT)
  const environment = { PATH: `${cwd}:${process.env['PATH']}`, SVC_URL: url, SVC_TOKEN: 'tok' }
  const run = new Spawned(t, shell, argv, { cwd, environment })
  const { code } = await run.ended
  return { code, stdout: run.stdout, stderr: run.stderr }
}
