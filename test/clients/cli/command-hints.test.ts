import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inCommands } from '../../../clients/cli/command-hints.ts'
import { failureOf } from '../../../clients/cli/failure.ts'
import { ClientError } from '../../../clients/client/client-error.ts'
import { type ErrorCode, errorTable, ServiceError } from '../../../protocol/errors.ts'

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

test('whoever is not signed in is told once how to, also by what answers without a problem', () => {
  for (const code of ['unauthenticated', 'token_expired'] as const) {
    const problem = new ServiceError(code).toJSON()
    const { message, exit_code } = failureOf(new ClientError('refused', problem.detail, { status: 401, problem }))
    assert.deepEqual([message.match(/svc login/g)?.length, exit_code], [1, 5], message)
  }
  const bare = failureOf(new ClientError('refused', 'The answer was 401.', { status: 401 }))
  assert.match(bare.message, /svc login/)
})
