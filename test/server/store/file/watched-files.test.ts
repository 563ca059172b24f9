import assert from 'node:assert/strict'
import { cpSync, mkdirSync, readdirSync, renameSync, rmSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { Answer } from '../../../../server/store/front/replies.ts'
import type { EngineStore } from '../../../../server/store/writer/engine-store.ts'
import { eventually, liveEngine } from '../../../kit/live-engine.ts'
import { refused } from '../../../kit/live-story.ts'
import { opened } from '../../../kit/opened-store.ts'
import { saving, temporaryDirectory } from '../../../kit/stored.ts'
import { newRun } from '../../../kit/stored-runs.ts'

const save = (store: EngineStore, name: string): Answer =>
  store.commit.run(store.intake, [{ id: 1, request: { type: 'save_flow', save: saving(name) } }])[0]!

const create = (store: EngineStore): Answer => {
  const request = { type: 'create_run' as const, run: newRun('boiler'), event: null, at: Date.now() * 1000 }
  const waiting = [{ id: 1, request, text: JSON.stringify(request) }]
  return (store.commit.keep(waiting) ?? store.commit.run(store.intake, waiting))[0]!
}

const said = (answer: Answer): string => ('problem' in answer ? answer.problem.code : 'done')

describe('nothing is acknowledged that the next start would not find', () => {
  for (const name of ['engine.db', 'engine.db-wal', 'redo.log', 'lock.db']) {
    test(`${name} is gone, and comes back`, t => {
      const data_dir = temporaryDirectory(t)
      writeFileSync(join(data_dir, 'lock.db'), '')
      const store = opened(data_dir)
      assert.deepEqual(
        [said(save(store, 'boiler')), said(create(store)), said(save(store, 'other'))],
        ['done', 'done', 'done'],
      )
      renameSync(join(data_dir, name), join(data_dir, 'aside'))
      assert.deepEqual([said(save(store, 'lost')), said(create(store))], ['database_lost', 'database_lost'])
      assert.ok(store.commit.isDown)
      store.commit.probe()
      assert.ok(store.commit.isDown)
      renameSync(join(data_dir, 'aside'), join(data_dir, name))
      store.commit.probe()
      assert.deepEqual([said(save(store, 'found')), said(create(store))], ['done', 'done'])
      store.close()
      const again = opened(data_dir)
      assert.deepEqual(
        again.loaded.flows.map(flow => flow.name),
        ['boiler', 'found', 'other'],
      )
      assert.equal(again.loaded.runs.queued.length, 2)
      again.close()
    })
  }

  test('another file of the same name is not the one that is open', t => {
    const data_dir = temporaryDirectory(t)
    const store = opened(data_dir)
    save(store, 'boiler')
    const other = temporaryDirectory(t)
    cpSync(join(data_dir, 'engine.db'), join(other, 'engine.db'))
    renameSync(join(other, 'engine.db'), join(data_dir, 'engine.db'))
    assert.equal(said(save(store, 'lost')), 'database_lost')
    store.db.close()
  })
})

test('an engine whose directory is replaced stops acknowledging by itself, says so, and leaves the other one alone', async t => {
  const live = await liveEngine(t)
  const { engine, data_dir } = live
  await engine.flows.save('kept', { document: { nodes: [], inputs: [{ message: 'x', dtype: 'int' }] } }, 'tests')
  const aside = join(temporaryDirectory(t), 'aside')
  renameSync(data_dir, aside)
  mkdirSync(data_dir)
  writeFileSync(join(data_dir, 'engine.json'), '{"url":"http://127.0.0.1:1","pid":1,"started_at":"","version":""}')
  await eventually(
    () =>
      refused(engine.observe.health()).then(
        code => code === 'database_lost',
        () => false,
      ),
    'it notices',
  )
  assert.equal(
    await refused(engine.flows.save('lost', { document: { nodes: [], inputs: [] } }, 'tests')),
    'database_lost',
  )
  engine.messages.publish([{ name: 'kept.x', value: 7 }])
  assert.equal(engine.messages.get('kept.x').value, 7, 'live values go on')
  const { issues } = engine.flows.get('kept')
  assert.match(issues.find(issue => issue.code === 'history_dropped')!.message, /engine\.db is gone/)

  // Back again: it goes on by itself.
  rmSync(data_dir, { recursive: true })
  renameSync(aside, data_dir)
  await eventually(async () => (await engine.observe.summary()).status === 'ok', 'it goes on')
  await engine.flows.save('found', { document: { nodes: [], inputs: [] } }, 'tests')

  renameSync(data_dir, aside)
  mkdirSync(data_dir)
  writeFileSync(join(data_dir, 'engine.json'), '{"url":"http://127.0.0.1:1","pid":1,"started_at":"","version":""}')
  await live.close()
  assert.deepEqual(readdirSync(data_dir), ['engine.json'])
  unlinkSync(join(data_dir, 'engine.json'))
})
