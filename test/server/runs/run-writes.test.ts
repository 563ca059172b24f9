import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ServiceError } from '../../../protocol/errors.ts'
import { RunWrites } from '../../../server/runs/run-writes.ts'

function written(retry_ms = 1) {
  const defects: unknown[] = []
  return { defects, writes: new RunWrites({ onDefect: error => defects.push(error), retry_ms }) }
}

test('a write that the disk refuses is repeated until it is taken, and nobody is told of a defect', async () => {
  const { writes, defects } = written()
  let tries = 0
  const taken = await writes.untilTaken(async failures => {
    assert.equal(failures, 0)
    if (++tries < 5) throw new ServiceError(tries % 2 === 0 ? 'disk_full' : 'disk_failed')
    return 'taken'
  })
  assert.deepEqual([taken, tries, defects], [{ result: 'taken' }, 5, []])
})

test('a write that is refused for anything else is told once and repeated, and knows how often it was', async () => {
  const { writes, defects } = written()
  const seen: number[] = []
  const taken = await writes.untilTaken(async failures => {
    seen.push(failures)
    if (failures < 3) throw new TypeError('a defect')
    return failures
  })
  assert.deepEqual([taken, seen, defects.length], [{ result: 3 }, [0, 1, 2, 3], 1])
})

test('an engine that ends tries what waits once more, and gives up what is refused again', async () => {
  const { writes } = written(1_000_000)
  const refused: string[] = []
  const stubborn = (name: string, takes: number) =>
    writes.untilTaken(async () => {
      refused.push(name)
      if (refused.filter(one => one === name).length <= takes) throw new ServiceError('disk_full')
      return name
    })
  const both = Promise.all([stubborn('once', 1), stubborn('always', Number.POSITIVE_INFINITY)])
  await new Promise(setImmediate)
  writes.close()
  assert.deepEqual(await both, [{ result: 'once' }, null])
  assert.deepEqual(refused, ['once', 'always', 'once', 'always'])
  assert.equal(await stubborn('later', Number.POSITIVE_INFINITY), null)
})
