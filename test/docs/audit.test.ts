import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { AUDIT_ACTIONS } from '../../protocol/words/audit-actions.ts'
import { ROOT } from '../kit/sources.ts'

test('docs/security.md says when each audit action is told', () => {
  const page = readFileSync(join(ROOT, 'docs/security.md'), 'utf8')
  const section = page.slice(page.indexOf('\n## Audit\n'), page.indexOf('\n## Behind a proxy\n'))
  const named = section
    .split('\n')
    .filter(line => line.startsWith('| `'))
    .flatMap(line => [...line.split(' | ')[0]!.matchAll(/`([a-z_]+)`/g)].map(([, action]) => action!))
  assert.deepEqual(named.sort(), [...AUDIT_ACTIONS].sort())
})
