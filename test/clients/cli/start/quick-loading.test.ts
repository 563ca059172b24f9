import assert from 'node:assert/strict'
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { ROOT } from '../../../kit/sources.ts'
import { directoryFor, Spawned } from '../../../kit/spawned.ts'

const HOOKS = ['quick-loading.js', 'stripped-sources.js', 'packed-packages.js']

/** A small project with the hooks in their place. */
function project(t: TestContext, files: Record<string, string>) {
  const root = directoryFor(t)
  mkdirSync(join(root, 'clients/cli/start'), { recursive: true })
  for (const name of HOOKS) cpSync(join(ROOT, 'clients/cli/start', name), join(root, 'clients/cli/start', name))
  const hook = join(root, 'clients/cli/start/quick-loading.js')
  writeFileSync(join(root, 'package.json'), '{"type": "module"}')
  for (const [name, source] of Object.entries(files)) {
    mkdirSync(join(root, name, '..'), { recursive: true })
    writeFileSync(join(root, name), source)
  }
  const cache = join(root, 'node_modules/.cache/svc', process.version)
  const run = async (name: string) => {
    const flags = ['--disable-warning=ExperimentalWarning', '--require', hook, join(root, name)]
    const node = new Spawned(t, process.execPath, flags, { cwd: root })
    const { code } = await node.ended
    return { code, stdout: node.stdout, stderr: node.stderr }
  }
  return { root, cache, run }
}

const TYPED = 'const text: string = "hello"\nconsole.log(text satisfies string)\n'

describe('a source whose types were stripped once', () => {
  test('is taken from what was kept', async t => {
    const { cache, run } = project(t, { 'a.ts': TYPED })
    assert.equal((await run('a.ts')).stdout, 'hello\n')
    const [kept] = readdirSync(cache)
    const path = join(cache, kept!)
    writeFileSync(path, readFileSync(path, 'utf8').replace('hello', 'kept'))
    assert.equal((await run('a.ts')).stdout, 'kept\n')
  })

  test('is stripped again when it changed, or when what was kept was cut short', async t => {
    const { root, cache, run } = project(t, { 'a.ts': TYPED })
    await run('a.ts')
    writeFileSync(join(root, 'a.ts'), TYPED.replace('hello', 'changed'))
    assert.equal((await run('a.ts')).stdout, 'changed\n')
    for (const name of readdirSync(cache)) writeFileSync(join(cache, name), '')
    assert.equal((await run('a.ts')).stdout, 'changed\n')
  })

  test('runs all the same where nothing can be kept', async t => {
    const { root, run } = project(t, { 'a.ts': TYPED, node_modules: 'a file where a folder should be' })
    assert.equal((await run('a.ts')).stdout, 'hello\n')
    assert.equal(readFileSync(join(root, 'node_modules'), 'utf8').length, 31)
  })
})

test('a source that cannot be stripped is refused by Node, which names the line', async t => {
  const { run } = project(t, { 'a.ts': 'const one = 1\nenum Two { a }\n' })
  const { code, stderr } = await run('a.ts')
  assert.equal(code, 1)
  assert.match(stderr, /a\.ts:2/)
})

test('an error names the line of the source', async t => {
  const { run } = project(t, { 'a.ts': 'interface Gone {\n  a: 1\n}\nJSON.parse("{")\n' })
  for (let times = 0; times < 2; times++) assert.match((await run('a.ts')).stderr, /a\.ts:4:6/)
})

test('an import that is not there is refused by Node, which names who wanted it', async t => {
  const { run } = project(t, { 'a.ts': "import './b.ts'\n" })
  const { code, stderr } = await run('a.ts')
  assert.equal(code, 1)
  assert.match(stderr, /ERR_MODULE_NOT_FOUND|Cannot find module '.*b\.ts' imported from .*a\.ts/)
})

describe('a package of many modules', () => {
  const PACKAGE = {
    'node_modules/typebox/package.json':
      '{"version": "1.0.0", "type": "module", "exports": {".": "./build/index.mjs"}}',
    'node_modules/typebox/build/index.mjs': "export { text } from './type/text.mjs'\n",
    'node_modules/typebox/build/type/text.mjs': "export const text = 'packed'\n",
    'a.ts': "import { text } from 'typebox'\nconsole.log(text as string)\n",
  }

  test('is read from one file, made when it is missing', async t => {
    const { root, run } = project(t, PACKAGE)
    assert.equal((await run('a.ts')).stdout, 'packed\n')
    const pack = join(root, 'node_modules/.cache/svc/typebox-1.0.0.json')
    writeFileSync(pack, readFileSync(pack, 'utf8').replace("'packed'", "'from the pack'"))
    assert.equal((await run('a.ts')).stdout, 'from the pack\n')
    writeFileSync(pack, '{"cut sho')
    assert.equal((await run('a.ts')).stdout, 'packed\n')
  })

  test('has another file when it has another version', async t => {
    const { root, run } = project(t, PACKAGE)
    await run('a.ts')
    const at = (name: string) => join(root, 'node_modules/typebox', name)
    writeFileSync(at('package.json'), readFileSync(at('package.json'), 'utf8').replace('1.0.0', '1.0.1'))
    writeFileSync(at('build/type/text.mjs'), "export const text = 'newer'\n")
    assert.equal((await run('a.ts')).stdout, 'newer\n')
  })

  test('that lacks a module is refused by Node', async t => {
    const { run } = project(t, {
      ...PACKAGE,
      'node_modules/typebox/build/index.mjs': "export { text } from './no.mjs'\n",
    })
    const { code, stderr } = await run('a.ts')
    assert.equal(code, 1)
    assert.match(stderr, /no\.mjs/)
  })
})

test('threads take it from there, with a file of their own or without', async t => {
  const { cache, run } = project(t, {
    'thread.ts': 'const text: string = "threaded"\nconsole.log(text)\n',
    'a.ts': [
      "import { Worker } from 'node:worker_threads'",
      "const url: URL = new URL('./thread.ts', import.meta.url)",
      'new Worker(url)',
      "new Worker('import(' + JSON.stringify(url.href) + ')', { eval: true })",
    ].join('\n'),
  })
  assert.equal((await run('a.ts')).stdout, 'threaded\nthreaded\n')
  for (const name of readdirSync(cache)) {
    const path = join(cache, name)
    writeFileSync(path, readFileSync(path, 'utf8').replace('"threaded"', '"kept"'))
  }
  assert.equal((await run('a.ts')).stdout, 'kept\nkept\n')
})
