/**
 * What the Python world makes of the description: a client that openapi-python-client generates, and requests that schemathesis
 * makes up. Run by `npm run rounds`, since it takes a minute or two; needs python3 with venv, and PyPI once.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { pythonIn, printedBy as run } from '../../kit/python.ts'
import { seed } from '../../kit/random.ts'
import { directoryFor, Spawned } from '../../kit/spawned.ts'

/** Examples and the edges of each schema. What fuzzing makes up differs from run to run, so it is for a person: see CONTRIBUTING.md. */
const PHASES = 'examples,coverage'
/** Signing out would end the token that all requests go by. */
const NOT_ASKED = ['/logout']
const EXAMPLES = 10

async function serve(t: TestContext, home: string): Promise<{ url: string; token: string }> {
  const data_dir = join(home, 'data')
  const engine = Spawned.svc(t, { cwd: home, argv: ['serve', '--plain', '--port', '0', '--data-dir', data_dir] })
  const url = (await engine.ready()).replace(/\/$/, '')
  return { url, token: readFileSync(join(data_dir, 'token'), 'utf8').trim() }
}

test('what Python makes of the description', async t => {
  const home = directoryFor(t)
  const bin = pythonIn(t, home, join(import.meta.dirname, 'requirements.txt'))
  if (bin === null) return
  const { url, token } = await serve(t, home)
  const description = `${url}/openapi.json`

  await t.test('a generated client works with flows, messages, runs and cascades, and stores an artifact', () => {
    const words = [
      'generate',
      '--url',
      description,
      '--meta',
      'none',
      '--output-path',
      join(home, 'flow_engine_client'),
    ]
    run(join(bin, 'openapi-python-client'), words, home)
    const program = join(import.meta.dirname, 'generated_client.py')
    const told = JSON.parse(run(join(bin, 'python'), [program, home, url, token], home)) as Record<string, unknown>
    assert.match(String(told['created_at']), /^\d{4}-\d\d-\d\dT/)
    delete told['created_at']
    assert.deepEqual(told, {
      flows: ['python'],
      version: 1,
      value: 6,
      history: [6],
      cascades: ['python.x'],
      status: 'succeeded',
      result: { y: 8 },
      runs: [true],
      digest: 'sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824',
    })
  })

  await t.test('no request gets a status, a media type or a shape that is not described, and none a 5xx', () => {
    const words = ['run', description, '--header', `Authorization: Bearer ${token}`, '--seed', String(seed)]
    const checks = [
      'not_a_server_error',
      'status_code_conformance',
      'content_type_conformance',
      'response_schema_conformance',
    ]
    words.push('--checks', checks.join(','), '--max-examples', String(EXAMPLES), '--phases', PHASES)
    for (const path of NOT_ASKED) words.push('--exclude-path', path)
    const said = run(join(bin, 'schemathesis'), words, home)
    assert.match(said, /\d+ generated, \d+ passed/)
  })
})
