import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GROUP } from '../../../../core/cascade/queue/item.ts'
import { KIND } from '../../../../protocol/values/encoded.ts'
import { verify } from '../../../../server/store/repair/verify.ts'
import { WaitingEncoder } from '../../../../server/store/waiting/blob.ts'
import { queuedRecord, valueRecord } from '../../../kit/journal-records.ts'
import { opened } from '../../../kit/opened-store.ts'
import { saving, temporaryDirectory } from '../../../kit/stored.ts'
import { waitingItems } from '../../../kit/waiting-items.ts'

test('what waits is held against the history: values that are gone, items out of order, rows that cannot be read', t => {
  const data_dir = temporaryDirectory(t)
  const store = opened(data_dir)
  const flows = ['a', 'b', 'c', 'd', 'e']
  flows.forEach((name, at) => {
    store.commit.run(store.intake, [{ id: at, request: { type: 'save_flow', save: saving(name) } }])
  })
  store.registry.register({
    messages: [[0, 'a.x', 'float']],
    flows: flows.map((name, at) => [at, name] as [number, string]),
    nodes: [],
  })
  for (let i = 1; i <= 9; i++) store.intake.visit(valueRecord(0, i, 1.7e15 + i, { kind: KIND.float, number: i }))
  for (const [flow, versions] of [
    [0, [7, 8, 9]],
    [1, [9, 10, 11]],
    [2, [8]],
    [3, [6]],
    [4, [8, 9]],
  ] as const) {
    for (const [item, version] of versions.entries())
      store.intake.visit(queuedRecord({ flow, message: 0, version, item }))
  }
  store.commit.run(store.intake, [])
  const id = (flow: string) => store.db.prepare('SELECT id FROM flows WHERE name = ?').pluck().get(flow) as number
  const message = store.db.prepare("SELECT id FROM messages WHERE name = 'a.x'").pluck().get() as number
  const put = (flow: string, versions: readonly number[], group = 0) => {
    const items = versions.map(version => ({ message, version, depth: 0, group, parent_seq: 0, parent_ts: 0 }))
    const bytes = new WaitingEncoder().encode(waitingItems(items), row => row, 1)
    store.db.prepare('UPDATE waiting SET count = ?, bytes = ? WHERE flow = ?').run(items.length, bytes, id(flow))
  }
  put('c', [8, 5])
  store.db.prepare("UPDATE waiting SET bytes = x'01ff' WHERE flow = ?").run(id('d'))
  put('e', [8, 5], GROUP.again)
  const [b, c, d] = ['b', 'c', 'd'].map(id)
  store.close()
  const { findings } = verify(data_dir)
  assert.deepEqual(
    findings.map(({ table, row }) => [table, row]).sort(),
    [b, c, d].map(flow => ['waiting', `flow = ${flow}`]),
  )
  const reason = (flow: number | undefined) => findings.find(({ row }) => row === `flow = ${flow}`)!.reason
  assert.equal(reason(b), 'the history does not hold the values of 2 of its items; the first is a.x@10')
  assert.match(reason(c), /item 1 of message \d+ has version 5 and stands behind 8/)
})
