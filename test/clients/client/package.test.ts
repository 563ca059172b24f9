import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { sharedEngine } from '../../kit/live-engine.ts'
import { ROOT } from '../../kit/sources.ts'
import { directoryFor } from '../../kit/spawned.ts'

const live = sharedEngine({ FLOW_LANES: '1' })

/** A project that depends on the package: a copy, as npm makes one, with what it needs beside it. */
function project(directory: string): string {
  const packages = join(directory, 'node_modules')
  const copy = join(packages, 'flow-engine')
  for (const part of ['package.json', 'protocol', 'clients/client', 'clients/cli/start/stripped-sources.js'])
    cpSync(join(ROOT, part), join(copy, part), { recursive: true })
  mkdirSync(join(packages, '@types'))
  for (const name of ['typebox', 'ws', 'hyparquet', 'hyparquet-writer', '@types/node', '@types/ws'])
    symlinkSync(join(ROOT, 'node_modules', name), join(packages, name))
  return directory
}

test('a project that depends on the package talks to an engine with its client', async t => {
  const directory = project(directoryFor(t))
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

test('its types hold in that project', async t => {
  const directory = project(directoryFor(t))
  const options = {
    ...{ strict: true, noEmit: true, module: 'nodenext', target: 'es2024', types: ['node'], skipLibCheck: true },
    ...{ allowImportingTsExtensions: true },
  }
  writeFileSync(
    join(directory, 'tsconfig.json'),
    JSON.stringify({ compilerOptions: options, files: ['right.mts', 'wrong.mts'] }),
  )
  const head =
    "import { connect } from 'flow-engine/client'\nconst engine = connect({ url: 'http://127.0.0.1:1', token: 't' })\n"
  writeFileSync(
    join(directory, 'right.mts'),
    `${head}const { count }: { count: number } = await engine.flows.list()\nvoid count\n`,
  )
  writeFileSync(join(directory, 'wrong.mts'), `${head}await engine.flows.lists()\n`)
  const compiling = promisify(execFile)(join(ROOT, 'node_modules/.bin/tsc'), ['--pretty', 'false'], { cwd: directory })
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
