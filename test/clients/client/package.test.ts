import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { dependentProject } from '../../kit/dependent-project.ts'
import { sharedEngine } from '../../kit/live-engine.ts'
import { ROOT } from '../../kit/sources.ts'
import { directoryFor } from '../../kit/spawned.ts'

const live = sharedEngine({ FLOW_LANES: '1' })

test('a project that depends on the package talks to an engine with its client', async t => {
  const directory = dependentProject(directoryFor(t))
  const program = `
    import * as client from 'flow-engine/client'
    const [url, token] = process.argv.slice(2)
    const engine = client.connect({ url, token })
    const { items } = await engine.flows.list()
    console.log(JSON.stringify({ names: items.map(flow => flow.name), exports: Object.keys(client).sort() }))
    engine.close()`
  writeFileSync(join(directory, 'asks.mjs'), program)
  await live.engine.flows.save('boiler', { document: { nodes: [] } }, 'tests')
  const token = readFileSync(join(live.data_dir, 'token'), 'utf8').trim()
  const run = promisify(execFile)
  const { stdout } = await run(process.execPath, ['asks.mjs', live.url, token], { cwd: directory })
  assert.deepEqual(JSON.parse(stdout), {
    names: ['boiler'],
    exports: Object.keys(await import('../../../clients/client/index.ts')).sort(),
  })
})

const COMPILERS = {
  'for Node': { module: 'nodenext', target: 'es2024', types: ['node'] },
  'for browsers, without the types of Node': {
    module: 'esnext',
    moduleResolution: 'bundler',
    target: 'es2024',
    lib: ['es2024', 'dom', 'dom.iterable', 'dom.asynciterable'],
    types: [],
  },
}

for (const [kind, options] of Object.entries(COMPILERS))
  test(`its types hold in a project ${kind}`, async t => {
    const directory = dependentProject(directoryFor(t))
    if (options.types.length === 0) rmSync(join(directory, 'node_modules/@types'), { recursive: true })
    const compilerOptions = {
      ...options,
      strict: true,
      noEmit: true,
      skipLibCheck: true,
      allowImportingTsExtensions: true,
    }
    writeFileSync(
      join(directory, 'tsconfig.json'),
      JSON.stringify({ compilerOptions, files: ['right.mts', 'wrong.mts'] }),
    )
    const head =
      "import { connect } from 'flow-engine/client'\nconst engine = connect({ url: 'http://127.0.0.1:1', token: 't' })\n"
    writeFileSync(
      join(directory, 'right.mts'),
      `${head}const { count }: { count: number } = await engine.flows.list()\nvoid count\n`,
    )
    writeFileSync(join(directory, 'wrong.mts'), `${head}await engine.flows.lists()\n`)
    const compiling = promisify(execFile)(join(ROOT, 'node_modules/.bin/tsc'), ['--pretty', 'false'], {
      cwd: directory,
    })
    const said = await compiling.then(
      () => '',
      (error: { stdout: string }) => error.stdout,
    )
    assert.match(said, /wrong\.mts\(3,\d+\).*'lists' does not exist/)
    assert.deepEqual(
      said.split('\n').filter(line => line !== '' && !line.startsWith('wrong.mts') && !line.startsWith(' ')),
      [],
    )
  })
