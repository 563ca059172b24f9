import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { directoryFor, eventually, Spawned } from '../../../kit/spawned.ts'

test('svc serve into a pipe prints its log behind its greeting, the lines that serve.log has', async t => {
  const cwd = directoryFor(t)
  const serve = Spawned.svc(t, { argv: ['serve', '--port', '0'], cwd })
  await eventually('it has started', () => serve.stdout.includes('address'))
  serve.child.kill('SIGTERM')
  assert.equal((await serve.ended).code, 0, serve.stderr)
  const printed = serve.stdout.split('\n').filter(line => line.startsWith('{'))
  assert.ok(serve.stdout.startsWith('address'))
  assert.equal((JSON.parse(printed.at(-1)!) as { event: string }).event, 'engine_stopped')
  const kept = readFileSync(`${cwd}/.svc/serve.log`, 'utf8')
  for (const line of printed) assert.ok(kept.includes(`${line}\n`), line)
})
