import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ServiceError } from '../../../protocol/errors.ts'
import { screens } from '../../kit/screens-double.ts'

test('a claim that the disk refuses is not spent', async () => {
  const { panels, records } = await screens({ now_ms: () => 0 })
  const { id } = await panels.create({ name: 'wall', dashboards: [] }, 'ada')
  const { code, secret } = panels.startPairing('192.0.2.1')
  panels.approve(id, code, 'ada')
  records.refuse = new ServiceError('disk_full')
  await assert.rejects(panels.claim(code, secret, '192.0.2.1'), { code: 'disk_full' })
  records.refuse = null
  assert.equal(panels.get(id).paired, false)
  assert.ok('token' in (await panels.claim(code, secret, '192.0.2.1')))
  assert.equal(panels.get(id).paired, true)
})

test('of two claims at once one gets the token', async () => {
  const { panels } = await screens({ now_ms: () => 0 })
  const { id } = await panels.create({ name: 'wall', dashboards: [] }, 'ada')
  const { code, secret } = panels.startPairing('192.0.2.1')
  panels.approve(id, code, 'ada')
  const claims = await Promise.allSettled([1, 2, 3].map(() => panels.claim(code, secret, '192.0.2.1')))
  assert.deepEqual(
    claims.map(({ status }) => status),
    ['fulfilled', 'rejected', 'rejected'],
  )
})

test('an unpaired panel is what it was, for another screen', async () => {
  const { panels, dashboards } = await screens({ now_ms: () => 0 })
  await dashboards.save('hall', { locked: false, tiles: [] }, undefined, 'ada')
  const { id } = await panels.create({ name: 'wall', dashboards: ['hall'] }, 'ada')
  const { nonce } = panels.standing(id)!
  let ended = 0
  panels.onEnded(() => ended++)
  await panels.unpair(id)
  assert.equal(ended, 1)
  assert.notEqual(panels.standing(id)!.nonce, nonce)
  assert.deepEqual([panels.get(id).name, panels.get(id).dashboards], ['wall', ['hall']])
})
