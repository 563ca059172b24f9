import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { KeyFileDouble } from '../../kit/secrets.ts'
import { directoryFor } from '../../kit/spawned.ts'

const PROGRAM = fileURLToPath(new URL('rekey-kill.ts', import.meta.url))

test('a rekey that is killed at any of its steps leaves every secret readable, and the next one goes on', t => {
  const folder = directoryFor(t)
  writeFileSync(join(folder, 'key.pem'), new KeyFileDouble().text, { mode: 0o600 })
  writeFileSync(join(folder, 'rows.json'), '{}')
  const run = (what: string) => {
    const { status, signal, stdout, stderr } = spawnSync(process.execPath, [PROGRAM, folder, what], {
      encoding: 'utf8',
    })
    if (signal === null) assert.equal(status, 0, stderr)
    return { signal, stdout }
  }
  const values = run('fill').stdout
  assert.match(values, /"name 19":"value 19"/)
  let killed = 0
  for (let step = 0; ; step++) {
    const { signal } = run(String(step))
    assert.equal(run('check').stdout, values, `killed at step ${step}`)
    if (signal === null) break
    assert.equal(signal, 'SIGKILL')
    killed++
  }
  assert.equal(killed, 5)
})
