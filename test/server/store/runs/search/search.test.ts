import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { compare, fits, parseComparison, parseField, parseOrder, valueAt } from '../../../../../core/runs/run-query.ts'
import type { RunSearch } from '../../../../../server/store/front/runs.ts'
import { randomFrom, seed } from '../../../../kit/random.ts'
import { saving, startStore, temporaryDirectory } from '../../../../kit/stored.ts'
import { curve, everyRun, newRun, nodeRow, ranRun } from '../../../../kit/stored-runs.ts'

const search = ({
  where = [],
  sort,
  columns = [],
  ...more
}: { where?: string[]; sort?: string; columns?: string[] } & Partial<
  Omit<RunSearch, 'where' | 'order' | 'columns'>
>): RunSearch => ({
  ...{ ...everyRun, limit: 100, offset: 0, ...more },
  where: where.map(text => parseComparison(text)!),
  order: sort === undefined ? null : parseOrder(sort)!,
  columns: columns.map(text => parseField(text)!),
})

async function story(t: TestContext) {
  const { store } = await startStore(t, temporaryDirectory(t))
  await store.saveFlow(saving('boiler'))
  const ids: string[] = []
  const ran = async (resolved: Record<string, unknown>, loss: number | null, result: Record<string, unknown> = {}) => {
    const run = newRun('boiler', { inputs: resolved, resolved })
    ids.push(run.id)
    const metrics = loss === null ? [] : curve('fit.loss', 3, step => (step === 2 ? loss : 9))
    await ranRun(store.runs, run, { nodes: [nodeRow('fit')], metrics }, { result })
  }
  const asked = async (asks: Parameters<typeof search>[0]) => {
    let text = ''
    for await (const page of await store.runs.search(search(asks))) text += Buffer.from(page).toString()
    return JSON.parse(text) as {
      items: { id: string; columns?: Record<string, unknown> }[]
      count: number
      next?: number
      truncated: boolean
    }
  }
  const found = async (asks: Parameters<typeof search>[0]) => (await asked(asks)).items.map(({ id }) => ids.indexOf(id))
  const refused = async (asks: Parameters<typeof search>[0]) => {
    const error = (await asked(asks).then(
      () => assert.fail('it was answered'),
      (refusal: unknown) => refusal,
    )) as Error & { code: string }
    assert.equal(error.code, 'bad_filter')
    return error.message
  }
  return { store, ran, asked, found, refused }
}

test('runs are found and sorted by inputs, by values of their results and by the last value of a metric', async t => {
  const { ran, asked, found } = await story(t)
  await ran({ lr: 0.1, mode: 'fast' }, 0.5, { accuracy: 0.9 })
  await ran({ lr: 0.01, mode: 'slow' }, 0.25, { accuracy: 0.8 })
  await ran({ lr: 1, mode: 'slow', deep: { units: 4 } }, null, { accuracy: 0.7 })
  assert.deepEqual(await found({ where: ['input.lr<0.5'] }), [1, 0])
  assert.deepEqual(await found({ where: ['input.mode=slow', 'input.lr>=1'] }), [2])
  assert.deepEqual(await found({ where: ['metric.loss<0.4'] }), [1])
  assert.deepEqual(await found({ where: ['metric.fit.loss<=0.5'], sort: 'metric.boiler.fit.loss' }), [1, 0])
  assert.deepEqual(await found({ where: ['result.accuracy>0.75'] }), [1, 0])
  assert.deepEqual(await found({ sort: 'metric.loss' }), [1, 0, 2], 'a run without it comes last')
  assert.deepEqual(await found({ sort: '-metric.loss' }), [0, 1, 2])
  assert.deepEqual(await found({ sort: '-input.lr' }), [2, 0, 1])
  assert.deepEqual(await found({ sort: 'input.deep.units' }), [2, 1, 0])
  assert.deepEqual(await found({ sort: 'created_at' }), [0, 1, 2])
  assert.deepEqual(await found({ where: ['duration>0'], sort: 'seed', flow: 'boiler' }), [2, 1, 0])
  assert.deepEqual(await found({ where: ['input.lr<0'] }), [])
  const { items, count, next, truncated } = await asked({
    sort: 'input.lr',
    limit: 2,
    columns: ['metric.loss', 'input.mode', 'result.none'],
  })
  assert.deepEqual([count, next, truncated], [3, 2, false])
  assert.deepEqual(
    items.map(({ columns }) => columns),
    [
      { 'metric.loss': 0.25, 'input.mode': 'slow', 'result.none': null },
      { 'metric.loss': 0.5, 'input.mode': 'fast', 'result.none': null },
    ],
  )
  assert.deepEqual(await found({ sort: 'input.lr', limit: 2, offset: 2 }), [2])
  const beside = await asked({ columns: ['input.lr'], limit: 1, offset: 1 })
  assert.deepEqual([beside.items[0]!.columns, beside.count, beside.next], [{ 'input.lr': 0.01 }, 3, 2])
})

test('a name that no run has, and one that stands for several metrics, are refused with those that are there', async t => {
  const { store, ran, found, refused } = await story(t)
  assert.deepEqual(await found({ where: ['input.lr<1'] }), [], 'where there is no run there is no slip')
  await ran({ lr: 0.1, batch: 8 }, 0.5)
  assert.match(
    await refused({ where: ['input.bach=8'] }),
    /input\.bach.* Did you mean "batch"\? Their inputs: batch, lr\./,
  )
  assert.match(await refused({ sort: '-metric.los' }), /metric\.los.*Their metrics: fit\.loss/)
  assert.match(await refused({ where: ['result.x=1'] }), /They have no values of results/)
  const metrics = [...curve('fit.loss', 1), ...curve('test.loss', 1)]
  await ranRun(store.runs, newRun('boiler'), { nodes: [nodeRow('fit'), nodeRow('test', { position: 1 })], metrics })
  assert.match(await refused({ sort: 'metric.loss' }), /"metric\.loss" stands for fit\.loss, test\.loss/)
  assert.equal((await found({ sort: 'metric.test.loss' })).length, 2)
})

test('a search finds what a model of it finds, page by page, whatever is asked', async t => {
  t.diagnostic(`seed ${seed}`)
  const random = randomFrom(seed)
  const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)]!
  const { ran, asked, found } = await story(t)
  const runs: { inputs: Record<string, unknown>; loss: number | null }[] = []
  const value = (): unknown => pick([0, 1, 2.5, -3, 'a', 'b', true, null, [1], undefined])
  for (let at = 0; at < 24; at++) {
    const inputs = { x: value(), y: { z: value() }, there: at, ...(random() < 0.2 ? { long: 'l'.repeat(5000) } : {}) }
    const run = {
      inputs: JSON.parse(JSON.stringify(inputs)) as Record<string, unknown>,
      loss: random() < 0.3 ? null : Math.floor(random() * 4),
    }
    runs.push(run)
    await ran(run.inputs, run.loss)
  }
  const given = (at: number, text: string): unknown =>
    text === 'metric.loss' ? (runs[at]!.loss ?? undefined) : valueAt(runs[at]!.inputs, text.slice('input.'.length))
  // In a long row only what lists show is looked at.
  const shown = (at: number, text: string): unknown => {
    const value = given(at, text)
    return 'long' in runs[at]!.inputs && Array.isArray(value) ? undefined : value
  }
  const FIELDS = ['input.x', 'input.y.z', 'input.there', 'metric.loss']
  for (let round = 0; round < 60; round++) {
    const where = Array.from(
      { length: Math.floor(random() * 3) },
      () =>
        `${pick(FIELDS)}${pick(['<', '<=', '=', '!=', '>', '>='])}${pick(['0', '1', '2.5', 'a', '"b"', 'true', 'null', '[1]'])}`,
    )
    const by = pick(FIELDS)
    const sign = pick([1, -1])
    const last = (at: number): number => (shown(at, by) === undefined ? 1 : 0)
    const wanted = runs
      .map((_, at) => at)
      .filter(at => where.map(text => parseComparison(text)!).every(one => fits(shown(at, one.field.text), one)))
      .sort((a, b) => last(a) - last(b) || (last(a) === 1 ? 0 : sign * compare(shown(a, by), shown(b, by))) || b - a)
    const sort = `${sign < 0 ? '-' : ''}${by}`
    const told = `where ${where.join(' and ')} sort ${sort}`
    assert.deepEqual(await found({ where, sort }), wanted, told)
    const pages: number[] = []
    for (let offset: number | undefined = 0; offset !== undefined; ) {
      pages.push(...(await found({ where, sort, limit: 7, offset })))
      offset = (await asked({ where, sort, limit: 7, offset })).next
    }
    assert.deepEqual(pages, wanted, told)
  }
})
