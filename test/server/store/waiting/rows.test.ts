import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KIND } from '../../../../protocol/values/encoded.ts'
import { decodeWaiting } from '../../../../server/store/waiting/blob.ts'
import { queuedRecord, takenRecord, valueRecord } from '../../../kit/journal-records.ts'
import { openedQuietly } from '../../../kit/opened-store.ts'
import { randomFrom, seed } from '../../../kit/random.ts'
import { saving, temporaryDirectory } from '../../../kit/stored.ts'

const FLOWS = 4

test(`a flow has a row while it has items, whatever commits fail in between (seed ${seed})`, t => {
  const random = randomFrom(seed)
  const store = openedQuietly(temporaryDirectory(t), {}, damage => assert.fail(JSON.stringify(damage)))
  t.after(() => store.close())
  const flows = Array.from({ length: FLOWS }, (_, flow) => `f${flow}`)
  for (const name of flows) {
    const request = { type: 'save_flow' as const, save: saving(name) }
    assert.ok('result' in store.commit.run(store.intake, [{ id: 1, request }])[0]!)
  }
  store.registry.register({
    messages: flows.map((name, flow) => [flow, `${name}.x`, 'float']),
    flows: flows.map((name, flow) => [flow, name]),
    nodes: [],
  })
  const rows = (): Map<string, number[]> => {
    const stored = store.db.prepare('SELECT name, count, waiting.bytes FROM waiting JOIN flows ON id = flow').all()
    return new Map(
      (stored as { name: string; count: number; bytes: Buffer }[]).map(({ name, count, bytes }) => {
        const items = decodeWaiting(bytes, 1000)
        assert.equal(items.length, count)
        return [name, items.map(({ version }) => version)]
      }),
    )
  }
  const appended = flows.map(() => 0)
  const taken = flows.map(() => 0)
  for (let step = 0; step < 400; step++) {
    const flow = Math.floor(random() * FLOWS)
    const choice = random()
    if (choice < 0.4) {
      const item = appended[flow]!++
      const version = item + 1
      const queued = random() < 0.5 ? { flow, item } : undefined
      store.intake.visit(valueRecord(flow, version, 1.7e15 + step, { kind: KIND.float, number: 1 }, queued))
      if (queued === undefined) store.intake.visit(queuedRecord({ flow, message: flow, version, item }))
    } else if (choice < 0.65) {
      taken[flow] = appended[flow]! - Math.floor(random() * Math.min(3, appended[flow]! - taken[flow]! + 1))
      store.intake.visit(takenRecord(flow, taken[flow]!))
    }
    store.intake.waiting.settle()
    if (random() < 0.5) continue
    const before = rows()
    if (random() < 0.3) {
      store.db.exec("CREATE TEMP TRIGGER refuse BEFORE INSERT ON main.log BEGIN SELECT RAISE(ABORT, 'refused'); END")
      store.intake.visit(valueRecord(0, 1e6 + step, 1.7e15 + step, { kind: KIND.float, number: 1 }))
      store.commit.run(store.intake, [])
      store.db.exec('DROP TRIGGER refuse')
      assert.deepEqual(rows(), before, 'a commit that fails changes nothing')
    }
    store.commit.run(store.intake, [])
    const expected = new Map<string, number[]>()
    for (const [flow, name] of flows.entries()) {
      const versions = Array.from({ length: appended[flow]! - taken[flow]! }, (_, at) => taken[flow]! + at + 1)
      if (versions.length > 0) expected.set(name, versions)
    }
    assert.deepEqual([...rows()].sort(), [...expected].sort())
  }
})
