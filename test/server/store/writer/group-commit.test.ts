import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatTime } from '../../../../protocol/time.ts'
import { KIND } from '../../../../protocol/values/encoded.ts'
import type { ControlRequest } from '../../../../server/store/front/requests.ts'
import { profile } from '../../../../test/kit/profile.ts'
import { valueRecord } from '../../../kit/journal-records.ts'
import { opened } from '../../../kit/opened-store.ts'
import { emptyDocument, saving, temporaryDirectory } from '../../../kit/stored.ts'

test('a control write that breaks costs itself: history, events and the other writes of its commit are kept', t => {
  const store = opened(temporaryDirectory(t))
  t.after(() => store.close())
  const document = { ...emptyDocument, inputs: [{ message: 'x', dtype: 'float' as const }] }
  const save = (name: string): ControlRequest => ({ type: 'save_flow', save: saving(name, { document }) })
  const eve = { name: 'eve', password_hash: 'x', ...profile('editor'), create: true }
  store.commit.run(store.intake, [
    { id: 0, request: { type: 'put_user', user: eve } },
    { id: 1, request: save('boiler') },
  ])
  store.registry.register({ messages: [[0, 'boiler.x', 'float']], flows: [[0, 'boiler']], nodes: [] })
  for (let i = 1; i <= 10; i++) store.intake.visit(valueRecord(0, i, 1.7e15 + i, { kind: KIND.float, number: i }))
  store.commit.events.push({ type: 'engine_degraded', ts: formatTime(1.7e15), flow: null, run: null })
  // A time with a fraction does not fit the column.
  const revoked = [{ user: 'eve', token: 't', issued_at: 0.5, expires_at: 1 }]
  const broken: ControlRequest = { type: 'revoke_tokens', revoked }
  const answers = store.commit.run(store.intake, [
    { id: 2, request: save('mixer') },
    { id: 3, request: broken },
    { id: 4, request: save('tank') },
  ])
  assert.deepEqual(
    answers.map(answer => [answer.id, 'result' in answer]),
    [
      [2, true],
      [3, false],
      [4, true],
    ],
  )
  assert.equal(store.registry.series(0).last.version, 10)
  const { count } = store.db.prepare('SELECT count(*) AS count FROM events').get() as { count: number }
  assert.equal(count, 1, 'the event is there, once')
})
