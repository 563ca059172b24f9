import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inCommands } from '../../../clients/cli/command-hints.ts'
import { type ErrorCode, errorTable } from '../../../protocol/errors.ts'

/** Words of requests: a person at a command line has sent none. */
const OF_REQUESTS =
  /\b(GET|POST|PUT|DELETE|PATCH) ?\/|Authorization|Retry-After|Allow header|HTTP|Content-Encoding|websocket/

test('every refusal speaks of commands, none of requests', () => {
  const codes = Object.keys(errorTable) as ErrorCode[]
  const refusals = codes.map(code => inCommands(code, `It was refused. ${errorTable[code].next}`))
  assert.ok(refusals.length > 90)
  assert.deepEqual(
    refusals.filter(text => OF_REQUESTS.test(text)),
    [],
  )
})

test('what a refusal says of its own accord stays as it is', () => {
  assert.equal(
    inCommands('flow_not_found', 'There is no flow "f". It was renamed.'),
    'There is no flow "f". It was renamed.',
  )
})
