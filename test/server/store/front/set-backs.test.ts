import assert from 'node:assert/strict'
import { test } from 'node:test'
import Database from 'better-sqlite3'
import { databaseFile } from '../../../../server/store/file/database.ts'
import { parseSetBacks, SET_BACKS } from '../../../../server/store/history/set-backs.ts'
import { type LiveEngine, liveEngine } from '../../../kit/live-engine.ts'
import { flow, Story } from '../../../kit/live-story.ts'

const HOUR_MS = 3_600_000

test('a clock that was set back while no engine ran is found at the next start, once, and values keep their order', async t => {
  let ahead_ms = HOUR_MS
  const first = await liveEngine(t, {}, {}, () => Date.now() + ahead_ms)
  await new Story(first.engine).save('boiler', flow([], { message: 'raw', dtype: 'int' }))
  new Story(first.engine).publish('boiler.raw', 1)
  ahead_ms = 0
  const second = await first.restart()
  const story = new Story(second.engine)
  story.publish('boiler.raw', 2)
  assert.deepEqual(await story.values('boiler.raw', 2), [1, 2])
  const third = await second.restart()
  new Story(third.engine).publish('boiler.raw', 3)
  assert.deepEqual(await new Story(third.engine).values('boiler.raw', 3), [1, 2, 3])
  const found = await foundAfter(third)
  assert.equal(found.length, 1)
  const [{ to_us, from_us, ahead_us }] = found as [(typeof found)[0]]
  assert.equal(ahead_us, from_us)
  assert.ok(from_us - to_us > (HOUR_MS / 2) * 1000, `${from_us - to_us} us`)
})

test('a start on values of the past finds no such clock', async t => {
  const first = await liveEngine(t)
  await new Story(first.engine).save('boiler', flow([], { message: 'raw', dtype: 'int' }))
  new Story(first.engine).publish('boiler.raw', 1)
  assert.deepEqual(await foundAfter(await first.restart()), [])
})

async function foundAfter(live: LiveEngine) {
  await live.close()
  const db = new Database(databaseFile(live.data_dir), { readonly: true })
  const text = db.prepare('SELECT value FROM settings WHERE name = ?').pluck().get(SET_BACKS) as string | undefined
  db.close()
  return parseSetBacks(text)
}
