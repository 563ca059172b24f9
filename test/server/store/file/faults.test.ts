import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { describe, test } from 'node:test'
import { diskFault } from '../../../../protocol/disk-faults.ts'
import { KIND } from '../../../../protocol/values/encoded.ts'
import { storeBounds } from '../../../../server/store/file/bounds.ts'
import { databaseFile } from '../../../../server/store/file/database.ts'
import { faultOf, refusalOf } from '../../../../server/store/file/faults.ts'
import type { StoreHealth } from '../../../../server/store/front/replies.ts'
import { EngineStore } from '../../../../server/store/writer/engine-store.ts'
import { valueRecord } from '../../../kit/journal-records.ts'
import { limitFiles } from '../../../kit/mounted.ts'
import { saving, temporaryDirectory } from '../../../kit/stored.ts'

const named = (code: string): Error => Object.assign(new Error(`it failed: ${code}`), { code })

describe('a fault of the disk is named as what it is', () => {
  for (const [name, code] of [
    ['ENOSPC', 'disk_full'],
    ['SQLITE_FULL', 'disk_full'],
    ['EDQUOT', 'disk_full'],
    ['EROFS', 'disk_read_only'],
    ['EIO', 'disk_failed'],
    ['EFBIG', 'disk_failed'],
  ] as const) {
    test(`${name} is ${code}`, () => {
      const fault = faultOf(named(name), '/nowhere')!
      assert.equal(fault.code, code)
      assert.match(fault.reason, new RegExp(`\\(${name}\\)$`))
      const refusal = refusalOf(named(name), '/nowhere')
      assert.equal(refusal.code, code)
      assert.ok(refusal.detail.startsWith(`${fault.reason}. Nothing was changed. `))
    })
  }

  test('no two faults that ask for different things say the same', () => {
    const reasons = ['ENOSPC', 'EDQUOT', 'EROFS', 'EACCES', 'EIO', 'EFBIG'].map(name => diskFault(name)!.reason)
    assert.equal(new Set(reasons).size, reasons.length)
  })

  test('SQLite does not say why a write failed, so the disk is asked by a write of our own', () => {
    const asked = (answer: unknown) => faultOf(named('SQLITE_IOERR_WRITE'), '/nowhere', () => answer)
    assert.equal(asked(named('EDQUOT'))!.code, 'disk_full')
    assert.match(asked(named('EDQUOT'))!.reason, /quota/)
    assert.equal(asked(named('EROFS'))!.code, 'disk_read_only')
    assert.equal(asked(named('EIO'))!.code, 'disk_failed')
    assert.deepEqual(asked(null), {
      code: 'disk_failed',
      reason: 'The disk failed to read or write engine.db (SQLITE_IOERR_WRITE)',
    })
  })

  test('little room left makes no full disk of a read that fails', t => {
    const fault = faultOf(named('SQLITE_IOERR_READ'), temporaryDirectory(t))!
    assert.equal(fault.code, 'disk_failed')
  })

  test('a damaged database and a defect are no faults of the disk', () => {
    assert.equal(faultOf(named('SQLITE_CORRUPT_VTAB'), '/nowhere'), null)
    assert.equal(refusalOf(named('SQLITE_CORRUPT'), '/nowhere').code, 'database_damaged')
    assert.equal(faultOf(new TypeError('a defect'), '/nowhere'), null)
    assert.equal(refusalOf(new TypeError('a defect'), '/nowhere').code, 'store_failed')
  })
})

test('a failing disk is distinguished from a full one, and the store goes on when it takes writes again', t => {
  const data_dir = temporaryDirectory(t)
  if (!limitFiles(null)) return t.skip('needs prlimit')
  t.after(() => limitFiles(null))
  const health: StoreHealth[] = []
  const store = new EngineStore({
    data_dir,
    bounds: storeBounds,
    messages: 16,
    clock: () => Date.now() * 1000,
    readPort: () => {},
    onHealth: state => health.push(state),
    log: () => {},
  })
  t.after(() => store.db.close())
  const save = (name: string) =>
    store.commit.run(store.intake, [{ id: 1, request: { type: 'save_flow', save: saving(name) } }])[0]!
  assert.ok('result' in save('before'))
  store.registry.register({ messages: [[0, 'before.x', 'float']], flows: [], nodes: [] })
  let version = 0
  const publish = (): void => {
    for (let i = 0; i < 50_000; i++)
      store.intake.visit(valueRecord(0, ++version, 1.7e15 + version, { kind: KIND.float, number: Math.random() }))
    store.commit.run(store.intake, [])
  }
  publish()
  limitFiles(statSync(databaseFile(data_dir)).size)
  publish()
  assert.deepEqual([health.at(-1)?.fault?.code, health.at(-1)?.failure], ['disk_failed', null])
  assert.match(health.at(-1)!.fault!.reason, /file size limit .*\(EFBIG\)$/)
  const refused = save('meanwhile')
  assert.ok('problem' in refused && refused.problem.code === 'disk_failed', JSON.stringify(refused))
  assert.match(refused.problem.detail, /Nothing was changed\. Check the device/)
  assert.doesNotMatch(refused.problem.detail, /[Ff]ree space/)
  store.commit.probe()
  assert.equal(store.commit.isDown, true)

  limitFiles(null)
  store.commit.probe()
  assert.equal(store.commit.isDown, false)
  assert.ok('result' in save('after'))
  assert.equal(health.at(-1)!.fault, null)
})
