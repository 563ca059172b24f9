import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { ROOT } from './kit/sources.ts'

interface Manifest {
  dependencies?: Record<string, string>
  devDependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
  overrides?: Record<string, string>
}
interface Lock {
  packages: Record<string, Manifest & { resolved?: string }>
}

const RIVALS = join('bench', 'rivals')
const rivals = existsSync(join(ROOT, RIVALS)) ? readdirSync(join(ROOT, RIVALS)).map(name => join(RIVALS, name)) : []
const read = (path: string): unknown => JSON.parse(readFileSync(join(ROOT, path), 'utf8'))

for (const folder of ['.', ...rivals]) {
  describe(`the lock of ${folder === '.' ? 'the project' : folder}`, () => {
    const manifest = read(join(folder, 'package.json')) as Manifest
    const { packages } = read(join(folder, 'package-lock.json')) as Lock
    const paths = Object.keys(packages)

    test('holds every optional package, or `npm ci` would refuse it', () => {
      const asked = Object.values(packages).flatMap(entry => Object.keys(entry.optionalDependencies ?? {}))
      const missing = asked.filter(name => !paths.some(path => path.endsWith(`node_modules/${name}`)))
      assert.deepEqual([...new Set(missing)], [])
    })

    test('carries no download addresses', () => {
      const carrying = paths.filter(path => packages[path]?.resolved?.includes('://'))
      assert.deepEqual(carrying, [])
    })

    test('goes with exact versions in package.json', () => {
      const asked = Object.entries({
        ...manifest.dependencies,
        ...manifest.devDependencies,
        ...manifest.optionalDependencies,
        ...manifest.overrides,
      })
      const loose = asked.filter(([, version]) => !/^(npm:(@[\w-]+\/)?[\w.-]+@)?\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))
      assert.deepEqual(loose, [])
    })
  })
}
