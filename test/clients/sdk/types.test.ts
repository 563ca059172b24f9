import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { withoutGit } from '../../kit/git.ts'
import { sdkBlocks } from '../../kit/sdk-page.ts'
import { ROOT } from '../../kit/sources.ts'
import { UserRepository } from '../../kit/user-repository.ts'

/** Lines that do not compile, and what the compiler says of each. */
const REFUSED: readonly [line: string, says: RegExp][] = [
  [`node({ outputs: { y: 'float' } }, () => ({ z: 1 }))`, /not assignable to type '"no output port is called z"'/],
  [`node({ outputs: { y: 'float' } }, () => ({ y: 'text' }))`, /Type 'string' is not assignable to type 'number'/],
  [`node({ inputs: { x: 'float' } }, ({ q }) => void q)`, /Property 'q' does not exist/],
  [`node({ inputs: { x: 'flaot' } }, () => {})`, /Type '"flaot"' is not assignable .* Did you mean '"float"'\?/],
  [
    `node({ settings: { window: 1 } }, (_, ctx) => void ctx.settings.windw)`,
    /Property 'windw' does not exist .* Did you mean 'window'\?/,
  ],
  [`use(known, { wire: { w: 'm' } })`, /'w' does not exist in type/],
]

/** Diagnostics of \`tsc\` in a folder. */
function compilerSays(folder: string): { file: string; line: number; text: string }[] {
  let said = ''
  try {
    execFileSync(join(ROOT, 'node_modules/.bin/tsc'), ['--pretty', 'false'], { cwd: folder, encoding: 'utf8' })
  } catch (error) {
    said = (error as { stdout: string }).stdout
  }
  return [...said.matchAll(/^(\S+)\((\d+),\d+\): error \w+: (.*)$/gm)].map(([, file, line, text]) => ({
    file: file!,
    line: Number(line),
    text: text!,
  }))
}

test('a wrong key or dtype does not compile in the repository of a user, and the examples do', {
  skip: withoutGit,
}, t => {
  const repository = new UserRepository(t)
  cpSync(join(ROOT, 'docs/examples/sdk'), repository.root, { recursive: true })
  for (const { path, source } of sdkBlocks()) repository.write(path, source)
  mkdirSync(join(repository.root, 'node_modules/@types'), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules/@types/node'), join(repository.root, 'node_modules/@types/node'))
  const head = [
    "import { node, use } from 'flow-engine/sdk'",
    "const known = node({ inputs: { x: 'float' } }, () => {})",
    'use(known)',
  ]
  repository.write('nodes/refused.ts', [...head, ...REFUSED.map(([line]) => line)].join('\n'))
  const said = compilerSays(repository.root)
  assert.deepEqual(
    said.filter(({ file }) => file !== 'nodes/refused.ts'),
    [],
  )
  for (const [at, [line, says]] of REFUSED.entries()) {
    const texts = said.filter(one => one.line === head.length + at + 1).map(({ text }) => text)
    assert.match(texts.join('\n'), says, line)
  }
  assert.ok(said.every(({ line }) => line > head.length))
})

test('the package is importable where Node strips no types, and gives what its sources give', {
  skip: withoutGit,
}, async t => {
  const repository = new UserRepository(t)
  const copy = join(repository.root, 'copied/node_modules/flow-engine')
  for (const part of ['package.json', 'protocol', 'clients/sdk', 'clients/cli/start/stripped-sources.js'])
    cpSync(join(ROOT, part), join(copy, part), { recursive: true })
  repository.write('copied/asks.mjs', "import * as sdk from 'flow-engine/sdk'\nconsole.log(Object.keys(sdk).join())\n")
  const said = execFileSync(process.execPath, ['asks.mjs'], { cwd: join(repository.root, 'copied'), encoding: 'utf8' })
  const { exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  for (const file of Object.values(exports['./sdk'])) assert.ok(existsSync(join(ROOT, file as string)))
  assert.deepEqual(said.trim().split(','), Object.keys(await import('../../../clients/sdk/index.ts')).sort())
})
