import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chownSync, existsSync, linkSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ArtifactExchange } from '../../../../server/calls/processes/artifact-exchange.ts'
import { directoryFor } from '../../../kit/spawned.ts'

const NOBODY = 65_534
const digestOf = (text: string): string => `sha256:${createHash('sha256').update(text).digest('hex')}`

test('only files of the user are taken, and no link is followed', async t => {
  if (process.getuid?.() !== 0) return t.skip('needs root, which can lay files there for another user')
  const data_dir = directoryFor(t)
  const folder = join(data_dir, 'exchange')
  mkdirSync(folder)
  const stored: string[] = []
  const exchange = new ArtifactExchange(folder, NOBODY, async bytes => {
    const pieces: Buffer[] = []
    for await (const piece of bytes) pieces.push(Buffer.from(piece))
    const text = Buffer.concat(pieces).toString()
    stored.push(text)
    return { digest: digestOf(text) }
  })
  const lay = (name: string, text: string, owner = NOBODY): string => {
    const path = join(folder, name)
    writeFileSync(path, text)
    chownSync(path, owner, owner)
    return path
  }
  const secret = join(data_dir, 'key.pem')
  writeFileSync(secret, 'a key')
  const long = 'x'.repeat(300_000)
  lay('own', long)
  assert.equal(await exchange.take('own', digestOf(long)), true)
  lay('other', 'of another user', 0)
  symlinkSync(secret, join(folder, 'link'))
  symlinkSync(folder, join(folder, 'folder'))
  linkSync(lay('twice', 'linked'), join(folder, 'hard'))
  execFileSync('mkfifo', [join(folder, 'pipe')])
  chownSync(join(folder, 'pipe'), NOBODY, NOBODY)
  for (const name of ['other', 'link', 'folder', 'hard', 'pipe', 'missing', '../key.pem'])
    assert.equal(await exchange.take(name, digestOf('a key')), false, name)
  assert.deepEqual(stored, [long])
  lay('lies', 'these bytes')
  assert.equal(await exchange.take('lies', digestOf('others')), false)
})

test('what was left behind is removed by the next start', t => {
  const folder = directoryFor(t)
  writeFileSync(join(folder, 'left'), 'x')
  mkdirSync(join(folder, 'inner'))
  new ArtifactExchange(folder, NOBODY, async () => ({ digest: '' }))
  assert.deepEqual([existsSync(join(folder, 'left')), existsSync(join(folder, 'inner'))], [false, false])
})
