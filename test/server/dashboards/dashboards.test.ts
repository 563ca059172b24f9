import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ServiceError } from '../../../protocol/errors.ts'
import { limits } from '../../../protocol/limits.ts'
import type { Dashboards } from '../../../server/dashboards/dashboards.ts'
import { tile } from '../../kit/panel-story.ts'
import { RecordsDouble } from '../../kit/records-double.ts'
import { screens } from '../../kit/screens-double.ts'

const showing = (...messages: string[]) => ({
  locked: false,
  tiles: messages.map((message, at) => tile(`t${at}`, 'value', { message })),
})
const PAGE = { limit: 1_000, offset: 0 }
const refusal = async (work: Promise<unknown>): Promise<ServiceError> =>
  work.then(
    () => assert.fail('it was not refused'),
    error => error as ServiceError,
  )
const save = (dashboards: Dashboards, name: string, version?: number, by = 'ada', ...messages: string[]) =>
  dashboards.save(name, showing(...messages), version, by)

test('each save is a version; a stale one is refused with who saved the present one, and when', async () => {
  const { dashboards } = await screens({ now_ms: () => 1_000 })
  assert.deepEqual(await save(dashboards, 'hall', 0), { name: 'hall', version: 1, warnings: [] })
  assert.equal((await save(dashboards, 'hall', 1, 'bea', 'f.a')).version, 2)
  assert.equal((await save(dashboards, 'hall')).version, 3)
  const stale = await refusal(save(dashboards, 'hall', 2, 'eve'))
  assert.equal(stale.code, 'stale_version')
  const at = '1970-01-01T00:00:01.000000+00:00'
  assert.deepEqual(stale.toJSON().current, { version: 3, author: 'ada', at })
  assert.match(stale.detail, /version 3, saved by ada at 1970/)
  assert.equal((await refusal(save(dashboards, 'hall', 0))).code, 'stale_version')
  assert.deepEqual((await refusal(save(dashboards, 'none', 4))).toJSON().current, {
    version: 0,
    author: null,
    at: null,
  })
})

test('of two saves at once from one version, one is refused', async () => {
  const { dashboards } = await screens({ now_ms: () => 0 })
  await save(dashboards, 'hall')
  const saves = ['ada', 'bea', 'cid'].map(by => save(dashboards, 'hall', 1, by, `f.${by}`))
  const settled = await Promise.allSettled(saves)
  assert.deepEqual(
    settled.map(({ status }) => status),
    ['fulfilled', 'rejected', 'rejected'],
  )
  assert.equal(dashboards.get('hall').updated_by, 'ada')
})

test('a save that the disk refuses changes nothing', async () => {
  const { dashboards, records } = await screens({ now_ms: () => 0 })
  await save(dashboards, 'hall', 0, 'ada', 'f.a')
  records.refuse = new ServiceError('disk_full')
  assert.equal((await refusal(save(dashboards, 'hall', 1, 'bea', 'f.b'))).code, 'disk_full')
  records.refuse = null
  assert.deepEqual(dashboards.document('hall'), showing('f.a'))
  assert.equal((await save(dashboards, 'hall', 1, 'bea', 'f.b')).version, 2)
})

test('versions are listed, compared and restored, also those of a deleted dashboard, also after a start', async () => {
  const records = new RecordsDouble()
  const { dashboards } = await screens({ now_ms: () => 0, records })
  await save(dashboards, 'hall', 0, 'ada', 'f.a')
  await save(dashboards, 'hall', 1, 'bea', 'f.b')
  const { document, diff, author } = await dashboards.version('hall', 2)
  assert.deepEqual([document, author], [showing('f.b'), 'bea'])
  assert.deepEqual(diff, [{ path: '/tiles/0/settings/message', before: 'f.a', after: 'f.b' }])
  await dashboards.remove('hall', 'cid')
  assert.equal((await refusal((async () => dashboards.get('hall'))())).code, 'dashboard_not_found')
  const { dashboards: later } = await screens({ now_ms: () => 0, records })
  const actions = later.history('hall', PAGE).items.map(({ version, action, author: by }) => [version, action, by])
  assert.deepEqual(actions, [
    [3, 'delete', 'cid'],
    [2, 'save', 'bea'],
    [1, 'save', 'ada'],
  ])
  assert.equal((await later.restore('hall', 1, 'dan')).version, 4)
  assert.deepEqual(later.document('hall'), showing('f.a'))
  assert.equal((await refusal(later.restore('hall', 3, 'dan'))).code, 'version_not_found')
  assert.equal((await refusal(later.version('hall', 9))).code, 'version_not_found')
})

test('the oldest versions go, and the histories of those that were deleted first', async () => {
  const clock = { ms: 0 }
  const { dashboards, records } = await screens({ now_ms: () => clock.ms })
  for (let at = 0; at < limits.DASHBOARD_VERSIONS + 5; at++) await save(dashboards, 'hall')
  assert.equal((await records.list('dashboard_version')).length, limits.DASHBOARD_VERSIONS)
  const { items, count } = dashboards.history('hall', PAGE)
  assert.deepEqual([count, items.at(-1)?.version], [limits.DASHBOARD_VERSIONS, 6])
  assert.deepEqual((await dashboards.version('hall', 6)).diff, [])
  await dashboards.remove('hall', 'ada')
  for (let at = 0; at < limits.DASHBOARDS_DELETED; at++) {
    clock.ms++
    await save(dashboards, `d${at}`)
    await dashboards.remove(`d${at}`, 'ada')
  }
  assert.throws(() => dashboards.history('hall', PAGE), { code: 'dashboard_not_found' })
  assert.equal((await records.list('dashboard_version')).length, 2 * limits.DASHBOARDS_DELETED)
  assert.equal((await records.list('dashboard')).length, limits.DASHBOARDS_DELETED)
})

test('documents and their number are bounded', async () => {
  const { dashboards } = await screens({ now_ms: () => 0 })
  const text = 'x'.repeat(limits.TILE_TEXT_CHARACTERS)
  const tiles = Array.from({ length: 9 }, (_, at) => tile(`t${at}`, 'text', { text }))
  assert.equal((await refusal(dashboards.save('hall', { locked: false, tiles }, undefined, 'ada'))).code, 'too_large')
  for (let at = 0; at < limits.DASHBOARDS; at++) await save(dashboards, `d${at}`)
  assert.equal((await refusal(save(dashboards, 'more'))).code, 'too_many_dashboards')
  assert.equal((await save(dashboards, 'd7')).version, 2)
})

test('a dashboard that a panel shows is not deleted', async () => {
  const { dashboards, panels } = await screens({ now_ms: () => 0 })
  await save(dashboards, 'hall')
  const { id } = await panels.create({ name: 'wall', dashboards: ['hall'] }, 'ada')
  const refused = await refusal(dashboards.remove('hall', 'ada'))
  assert.equal(refused.code, 'dashboard_in_use')
  assert.match(refused.detail, /Panel "wall" shows/)
  await panels.change(id, { dashboards: [] })
  await dashboards.remove('hall', 'ada')
})

test('what is not there is a warning, with its place', async () => {
  const { dashboards } = await screens({
    now_ms: () => 0,
    messages: { get: name => (name === 'f.a' ? {} : undefined) },
  })
  const { warnings } = await save(dashboards, 'hall', 0, 'ada', 'f.a', 'f.b')
  assert.deepEqual(warnings, [{ loc: 'tiles[1].settings.message', msg: 'there is no message "f.b" now' }])
  assert.deepEqual(dashboards.get('hall').warnings, warnings)
  assert.equal('warnings' in dashboards.shownTo('hall'), false)
})

test('the rename of a flow writes a version of each dashboard that names it, or none', async () => {
  const announced: Record<string, unknown>[] = []
  const { dashboards, records } = await screens({ now_ms: () => 0, announced })
  await save(dashboards, 'hall', 0, 'ada', 'f.a', 'h.a')
  await save(dashboards, 'office', 0, 'ada', 'h.a')
  await assert.rejects(
    dashboards.renaming('f', 'g', 'bea', async () => {
      throw new ServiceError('disk_full')
    }),
  )
  assert.deepEqual(dashboards.document('hall'), showing('f.a', 'h.a'))
  await dashboards.renaming('f', 'g', 'bea', written => records.write(written))
  assert.deepEqual(dashboards.document('hall'), showing('g.a', 'h.a'))
  assert.deepEqual([dashboards.versionOf('hall'), dashboards.versionOf('office')], [2, 1])
  const { type, name, action, by } = announced.at(-1)!
  assert.deepEqual([type, name, action, by], ['dashboard_saved', 'hall', 'rename', 'bea'])
})

test('two dashboards with the beginning of one name in common keep their own versions', async () => {
  const { dashboards } = await screens({ now_ms: () => 0 })
  await save(dashboards, 'hall', 0, 'ada', 'f.a')
  await save(dashboards, 'hall-2', 0, 'ada', 'f.b')
  assert.deepEqual((await dashboards.version('hall', 1)).document, showing('f.a'))
  assert.deepEqual((await dashboards.version('hall-2', 1)).document, showing('f.b'))
})
