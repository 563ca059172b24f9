import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { MessageTable } from '../../../core/memory/messages.ts'
import { KIND } from '../../../protocol/values/encoded.ts'
import { storeBounds } from '../../../server/store/file/bounds.ts'
import { databaseFile } from '../../../server/store/file/database.ts'
import type { StoreHealth } from '../../../server/store/front/replies.ts'
import { EngineStore } from '../../../server/store/writer/engine-store.ts'
import { valueRecord } from '../../kit/journal-records.ts'
import { float, newValue } from '../../kit/memory.ts'
import { emptyDocument, saving, startStore, temporaryDirectory } from '../../kit/stored.ts'

/** Polls; a full disk shows when the next commit meets it. */
async function until(truth: () => boolean | Promise<boolean>, what: string): Promise<void> {
  for (let i = 0; i < 1500; i++) {
    if (await truth()) return
    await wait(10)
  }
  assert.fail(`never: ${what}`)
}

const large = (size: number) => ({
  ...emptyDocument,
  inputs: [{ message: 'x', dtype: 'str' as const, default: 'x'.repeat(size) }],
})

function opened(data_dir: string, health: StoreHealth[]): EngineStore {
  return new EngineStore({
    data_dir,
    bounds: storeBounds,
    messages: 16,
    clock: () => Date.now() * 1000,
    readPort: () => {},
    onHealth: state => health.push(state),
    log: text => assert.fail(text),
  })
}

test('when the file cannot grow, writes are refused one by one, nothing is half done, and room brings everything back', t => {
  const data_dir = temporaryDirectory(t)
  const health: StoreHealth[] = []
  let store = opened(data_dir, health)
  const control = (id: number, name: string, size: number) => ({
    id,
    request: { type: 'save_flow' as const, save: saving(name, { document: large(size) }) },
  })
  const publish = (from: number, to: number): void => {
    for (let i = from; i <= to; i++)
      store.intake.visit(valueRecord(0, i, 1.7e15 + i, { kind: KIND.float, number: Math.random() }))
  }
  store.registry.register({ messages: [[0, 'f.raw', 'float']], flows: [], nodes: [] })
  publish(1, 1000)
  assert.ok('result' in store.commit.run(store.intake, [control(1, 'f', 100)])[0]!)
  const pages = store.db.pragma('page_count', { simple: true }) as number
  store.db.pragma(`max_page_count = ${pages + 8}`)

  publish(1001, 200_000)
  const outcomes = store.commit.run(store.intake, [
    control(2, 'small', 10),
    control(3, 'huge', 1_000_000),
    control(4, 'also', 10),
  ])
  assert.deepEqual(
    outcomes.map(outcome => [outcome.id, 'problem' in outcome ? outcome.problem.code : 'done']),
    [
      [2, 'done'],
      [3, 'disk_full'],
      [4, 'done'],
    ],
  )
  assert.ok('problem' in outcomes[1]! && /Nothing was changed/.test(outcomes[1].problem.detail))
  assert.deepEqual([health.at(-1)!.fault?.code, health.at(-1)!.dropped], ['disk_full', 199_000])
  assert.equal(store.db.pragma('integrity_check', { simple: true }), 'ok')

  store.commit.probe()
  assert.equal(store.commit.isDown, true)
  store.db.pragma('max_page_count = 1000000')
  store.commit.probe()
  assert.equal(store.commit.isDown, false)
  publish(200_001, 200_010)
  store.commit.run(store.intake, [])
  assert.equal(health.at(-1)!.fault, null)
  store.close()

  store = opened(data_dir, health)
  assert.deepEqual(
    store.loaded.flows.map(flow => flow.name),
    ['also', 'f', 'small'],
  )
  assert.deepEqual(
    store.loaded.values.map(value => value.version),
    [200_010],
  )
  store.close()
})

test('whoever asks whether his values are on disk is told when a commit did not take them, and only then', t => {
  const health: StoreHealth[] = []
  const store = opened(temporaryDirectory(t), health)
  const publish = (from: number, to: number): void => {
    for (let i = from; i <= to; i++)
      store.intake.visit(valueRecord(0, i, 1.7e15 + i, { kind: KIND.float, number: Math.random() }))
  }
  const asks = (dropped: number): string => {
    const [answer] = store.commit.run(store.intake, [{ id: 1, request: { type: 'durable', dropped } }])
    return 'problem' in answer! ? answer.problem.code : 'on disk'
  }
  store.registry.register({ messages: [[0, 'f.raw', 'float']], flows: [], nodes: [] })
  publish(1, 1000)
  assert.equal(asks(0), 'on disk')
  const pages = store.db.pragma('page_count', { simple: true }) as number
  store.db.pragma(`max_page_count = ${pages + 1}`)
  publish(1001, 200_000)
  assert.equal(asks(0), 'not_durable', 'in the commit that failed')
  publish(200_001, 200_002)
  assert.equal(asks(health.at(-1)!.dropped), 'not_durable', 'while the disk is down')
  store.db.pragma('max_page_count = 1000000')
  store.commit.probe()
  publish(200_003, 200_004)
  assert.equal(asks(0), 'not_durable', 'dropped before the commit that took the rest')
  assert.equal(asks(health.at(-1)!.dropped), 'on disk')
  store.close()
})

test('a full disk costs history, not the engine: control writes say so, and values are whole when there is room again', async t => {
  const data_dir = temporaryDirectory(t)
  const mount = (...options: string[]): boolean =>
    spawnSync('mount', [...options, data_dir], { stdio: 'ignore' }).status === 0
  if (!mount('-t', 'tmpfs', '-o', 'size=2m', 'tmpfs')) {
    t.skip('needs the right to mount')
    return
  }
  try {
    await fillAndFree(t, data_dir, mount)
  } finally {
    spawnSync('umount', ['-l', data_dir])
  }
})

async function fillAndFree(t: TestContext, data_dir: string, mount: (...options: string[]) => boolean): Promise<void> {
  const health: StoreHealth[] = []
  const started = await startStore(t, data_dir, { onHealth: state => health.push(state) })
  const { store, journal, memory } = started
  await store.saveFlow(saving('f'))
  const quiet = journal.declare('f.quiet', 'float')
  journal.declare('f.raw', 'float')
  const messages = new MessageTable(memory)
  messages.reset(quiet, 0)
  let version = 0
  const flood = (): void => {
    if (!journal.writer.hasRoom(16_384)) return
    for (let i = 0; i < 400; i++) journal.put('f.raw', Math.random(), 1.7e15 + version++)
    journal.writer.mark()
  }
  await until(() => {
    flood()
    return health.at(-1)?.fault?.code === 'disk_full'
  }, 'the disk is full')
  await assert.rejects(
    store.saveFlow(saving('huge', { document: large(2_000_000) })),
    (error: { code: string; status: number }) => {
      assert.equal(error.code, 'disk_full')
      assert.equal(error.status, 507)
      return true
    },
  )
  // What is published meanwhile is not recorded, but it is the message's value.
  messages.write(quiet, 1, 1.8e15, float(newValue(), 42), 0)
  messages.flip(quiet, 1)
  journal.publish('f.quiet', 42, 1.8e15)
  const dropped = health.at(-1)!.dropped
  await until(() => health.at(-1)!.dropped > dropped, 'the value was dropped')

  assert.ok(mount('-o', 'remount,size=64m'))
  await until(() => health.at(-1)!.fault === null, 'room again')
  await store.saveFlow(saving('after'))
  const last = journal.publish('f.raw', 1, 1.9e15)
  await store.flush()
  await started.close()

  const db = new Database(databaseFile(data_dir))
  assert.equal(db.pragma('integrity_check', { simple: true }), 'ok')
  db.close()
  const again = await startStore(t, data_dir)
  assert.deepEqual(
    again.loaded.flows.map(flow => flow.name),
    ['after', 'f'],
  )
  assert.deepEqual(
    again.loaded.values.map(({ name, version, number }) => [name, version, number]),
    [
      ['f.quiet', 1, 42],
      ['f.raw', last, 1],
    ],
  )
  await again.close()
}
