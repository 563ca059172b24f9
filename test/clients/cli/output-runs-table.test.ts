import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { runsTable, varyingInputs } from '../../../clients/cli/output/runs-table.ts'
import { shortRuns } from '../../../clients/cli/output/short-ids.ts'

const runs = [
  { id: 'one', inputs: { lr: 0.1, batch: 8, model: 'small', kept: 1 }, columns: { 'metric.loss': 0.123456789 } },
  { id: 'two', inputs: { lr: 0.01, batch: 16, model: 'large', kept: 1 }, columns: { 'metric.loss': null } },
]
const rest = [
  { title: 'run', cell: ({ id }: (typeof runs)[number]) => id },
  { title: 'created', cell: () => '2026-01-02 00:00:03' },
  { title: 'group', cell: () => 'a group of many letters' },
]
const lines = (width?: number) => runsTable(runs, varyingInputs(runs), ['metric.loss'], rest, width)

describe('a table of runs', () => {
  test('has the inputs that vary and the chosen numbers first and whole, and cuts what has no room beside them', () => {
    assert.deepEqual(varyingInputs(runs), ['lr', 'batch', 'model'])
    for (const width of [30, 40, 50, 60, 80, 100]) {
      const drawn = lines(width)
      assert.match(drawn[1]!, /^ *0\.1 +8 +small +0\.123457/)
      // No wider than the terminal, unless what is whole is.
      const first = '0.01     16  large  metric.loss'.length
      for (const line of drawn) assert.ok(line.length <= Math.max(width, first), `${width}: ${line}`)
    }
    assert.match(lines()[1]!, /a group of many letters$/)
  })

  test('names runs by the shortest beginnings of their last groups that tell them apart', () => {
    const id = (last: string): string => `0195a3c4-7b10-7cc2-9d54-${last}`
    const [a, b, c] = [id('2f1e6a9b0c11'), id('2f1e6a9b0d22'), id('aaaaaaaaaaaa')]
    assert.deepEqual([...shortRuns([a, c]).values()], ['2f1e6a9b', 'aaaaaaaa'])
    assert.deepEqual([...shortRuns([a, b, c]).values()], ['2f1e6a9b0c', '2f1e6a9b0d', 'aaaaaaaaaa'])
    assert.deepEqual([...shortRuns([a, a]).values()], ['2f1e6a9b'])
  })
})
