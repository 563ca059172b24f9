import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadInTurns } from '../../../server/mcp/load.ts'

test('the endpoint is loaded a module at a time: the event loop has its turn between them', async () => {
  let turns = 0
  let isLoading = true
  const count = (): void => {
    turns++
    if (isLoading) setImmediate(count)
  }
  setImmediate(count)
  const url = new URL('../../../server/mcp/open.ts', import.meta.url)
  const { openEndpoint } = await loadInTurns<typeof import('../../../server/mcp/open.ts')>(url)
  isLoading = false
  assert.equal(typeof openEndpoint, 'function')
  // Some 130 modules: those of the engine's own that are not loaded yet, of the package, and of its schemas.
  assert.ok(turns > 100, `${turns} turns`)
})
