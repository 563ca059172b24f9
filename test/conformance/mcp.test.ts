import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, test } from 'node:test'
import * as sdk from '@modelcontextprotocol/server'
import { SCOPES_OF } from '../../protocol/words/scopes.ts'
import { McpEndpoint } from '../../server/mcp/endpoint.ts'
import { mcpRoutes } from '../../server/mcp/routes.ts'
import { fixtureServer } from '../kit/mcp-fixture.ts'
import { ADA, type ServedFront, serveFront } from '../kit/served-front.ts'
import { ROOT } from '../kit/sources.ts'

/**
 * The official conformance suites, against a server of their own behind our front and bridge. They know no tokens: the route lets them in
 * as one user. What the requirement sets do not score are extensions that nobody here speaks.
 */
const caller = {
  kind: 'user',
  name: ADA.name,
  actor: ADA.name,
  role: 'editor',
  superuser: false,
  scopes: SCOPES_OF.editor,
} as const
const onDefect = (error: unknown): never => assert.fail(String(error))
const now_ms = (): number => performance.now()

let served: ServedFront
before(async () => {
  served = await serveFront({
    mcp: async () => new McpEndpoint({ sdk, server: fixtureServer, holds: () => true, now_ms, onDefect }),
    routes: services =>
      mcpRoutes(services).map(route => ({
        ...route,
        scope: 'open',
        handle: request => route.handle({ ...request, caller } as never),
      })),
  })
})
after(() => served.close())

/** What a suite prints: its scenarios with how many checks of each failed, and those that are not scored. */
async function suite(folder: string, ...flags: string[]) {
  const results = mkdtempSync(join(tmpdir(), 'conformance-'))
  const words = ['server', '--url', `${served.url}/mcp`, ...flags, '-o', results]
  const child = spawn(process.execPath, [join(ROOT, 'node_modules', folder, 'dist/index.js'), ...words], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const printed = await text(child.stdout)
  rmSync(results, { recursive: true, force: true })
  const unscored = new Set([...printed.matchAll(/^ {2}[✓✗] (\S+) \(/gm)].map(([, name]) => name!))
  const all = [...printed.matchAll(/^[✓✗] (\S+): (\d+) passed, (\d+) failed/gm)]
  const scored = all.filter(([, name]) => !unscored.has(name!))
  return {
    scenarios: scored.map(([, name]) => name!),
    checks: scored.reduce((sum, [, , passed]) => sum + Number(passed), 0),
    failed: scored.filter(([, , , failed]) => failed !== '0').map(([line]) => line),
    printed,
  }
}

for (const [revision, scenarios] of [
  ['2025-11-25', 30],
  ['2026-07-28', 37],
] as const) {
  test(`every scored scenario of ${revision} passes behind our front`, async t => {
    const {
      scenarios: run,
      checks,
      failed,
      printed,
    } = await suite('@modelcontextprotocol/conformance', '--requirements', revision)
    t.diagnostic(`${run.length} scenarios, ${checks} checks`)
    assert.deepEqual(failed, [], printed)
    assert.ok(run.length >= scenarios, printed)
    assert.deepEqual(served.log.errors, [])
  })
}

test('every scenario of the suite that was current in 2025 passes behind our front', async t => {
  const { scenarios, checks, failed, printed } = await suite('conformance-of-2025', '--suite', 'all')
  t.diagnostic(`${scenarios.length} scenarios, ${checks} checks`)
  assert.deepEqual(failed, [], printed)
  assert.ok(scenarios.length >= 32, printed)
})
