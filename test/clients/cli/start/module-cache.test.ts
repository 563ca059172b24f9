import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { boundModuleCache } from '../../../../clients/cli/start/module-cache.ts'
import { directoryFor } from '../../../kit/spawned.ts'

/** A cache of files of 100 bytes, made an hour apart, in the order of their names. */
function cache(t: TestContext, names: readonly string[]) {
  const folder = join(directoryFor(t), 'svc')
  names.forEach((name, hour) => {
    const path = join(folder, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, 'x'.repeat(100))
    utimesSync(path, hour * 3600, hour * 3600)
  })
  const left = (): string[] => names.filter(name => existsSync(join(folder, name)))
  return { folder, left }
}

const NAMES = ['v22.1.0/a.js', 'v22.1.0/b.js', 'package-1.0.0.json', 'v22.2.0/a.js', 'v22.2.0/c.js', 'v22.2.0/d.js']

describe('what the load hooks keep', () => {
  test('stays as it is up to its bound', async t => {
    const { folder, left } = cache(t, NAMES)
    assert.equal(await boundModuleCache(folder, 600), 0)
    assert.deepEqual(left(), NAMES)
  })

  test('past its bound loses its oldest files, whatever release of Node they were made for, until half of it is left', async t => {
    const { folder, left } = cache(t, NAMES)
    assert.equal(await boundModuleCache(folder, 599), 4)
    assert.deepEqual(left(), NAMES.slice(4))
  })

  test('may be missing, or be no folder', async t => {
    const directory = directoryFor(t)
    assert.equal(await boundModuleCache(join(directory, 'nothing'), 1), 0)
    writeFileSync(join(directory, 'file'), 'text')
    assert.equal(await boundModuleCache(join(directory, 'file'), 1), 0)
    assert.deepEqual(readdirSync(directory), ['file'])
  })
})
