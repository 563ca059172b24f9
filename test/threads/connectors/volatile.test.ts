import assert from 'node:assert/strict'
import { test } from 'node:test'
import { attachVolatile, createVolatile, volatileOwner } from '../../../core/memory/volatile/region.ts'
import { VolatileStore } from '../../../core/memory/volatile/store.ts'
import { hexOf } from '../../../protocol/artifact-names.ts'
import { limits } from '../../../protocol/limits.ts'
import { keepVolatile } from '../../../threads/connectors/volatile.ts'

const store = () => new VolatileStore(attachVolatile(createVolatile(limits.VOLATILE_BYTES_MIN).sab), volatileOwner(1))

test('bytes that a connector keeps are read by the digest of their reference', () => {
  const there = store()
  const reference = keepVolatile(there, Buffer.from('a frame'), 'image/jpeg', { width: 2 })
  assert.deepEqual({ ...reference, digest: '' }, { digest: '', media_type: 'image/jpeg', size: 7, meta: { width: 2 } })
  assert.equal(String(there.read(Buffer.from(hexOf(reference!.digest)!, 'hex'))), 'a frame')
  assert.throws(() => keepVolatile(there, Buffer.alloc(there.largest + 1), 'image/jpeg'), { code: 'too_large' })
})
