import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { limits } from '../../../protocol/limits.ts'
import type { HistoryBin, HistoryPoint } from '../../../protocol/nouns/message.ts'
import { formatTime, parseTime } from '../../../protocol/time.ts'
import { createCodec, newEncoded } from '../../../protocol/values/codec.ts'
import type { HistoryRequest } from '../../../server/store/front/requests.ts'
import { HistoryReader } from '../../../server/store/history/reader.ts'
import { valueRecord } from '../../kit/journal-records.ts'
import { opened, settle } from '../../kit/opened-store.ts'
import { temporaryDirectory } from '../../kit/stored.ts'

const MINUTE = 60_000_000
const FROM = Math.floor(1.7e15 / MINUTE / 60) * MINUTE * 60

/** A message `f.text` with a history, and its reader. */
function history(t: TestContext) {
  let now = FROM
  const store = opened(temporaryDirectory(t), {}, () => now)
  t.after(() => store.close())
  store.registry.register({ messages: [[0, 'f.text', 'json']], flows: [], nodes: [] })
  const codec = createCodec()
  const encoded = newEncoded()
  const reader = new HistoryReader(store.db, codec, limits.HISTORY_ANSWER_BYTES)
  let version = 0
  return {
    store,
    put(value: unknown, ts: number): void {
      assert.equal(codec.encode(value, 'json', encoded), null)
      store.intake.visit(valueRecord(0, ++version, ts, encoded))
    },
    commit: () => void store.commit.run(store.intake, []),
    /** The clock moves on; what ended before is closed. */
    until(us: number): void {
      now = us
      store.commit.run(store.intake, [])
      settle(store)
    },
    read<Item = HistoryPoint>(query: Partial<HistoryRequest> = {}) {
      const whole = { name: 'f.text', since: null, until: null, limit: limits.HISTORY_POINTS, bucket_s: null }
      const { items, truncated } = reader.read({ ...whole, ...query }, now)
      return { items: items as Item[], truncated }
    },
  }
}

test('an answer of large values ends at its bytes, and the next one goes on where it ended', t => {
  const { put, commit, read, store } = history(t)
  const large = 'x'.repeat(limits.MESSAGE_VALUE_BYTES - 100)
  for (let n = 0; n < 40; n++) {
    // Three of a microsecond, so that answers end between points of one time.
    put(`${n} ${large}`, FROM + Math.floor(n / 3))
    if (n % 20 === 19) commit()
  }
  const seen: number[] = []
  let page = read()
  assert.equal(page.items.length, Math.floor(limits.HISTORY_ANSWER_BYTES / limits.MESSAGE_VALUE_BYTES))
  for (;;) {
    const bytes = page.items.reduce((sum, { value }) => sum + (value as string).length, 0)
    assert.ok(bytes <= limits.HISTORY_ANSWER_BYTES)
    seen.unshift(...page.items.map(({ value }) => Number.parseInt(value as string, 10)))
    if (!page.truncated) break
    const [first] = page.items
    page = read({ until: parseTime(first!.ts), until_version: first!.version })
  }
  assert.deepEqual(
    seen,
    Array.from({ length: 40 }, (_, n) => n),
  )
  const chunks = store.db.prepare('SELECT length(bytes) FROM chunks').pluck().all() as number[]
  assert.ok(chunks.length > 8 && Math.max(...chunks) < 2 * limits.CHUNK_BYTES, 'a reader decodes whole chunks')
})

test('the newest point is in the answer, whatever its size, and so is the newest bin', t => {
  const { put, until, read, store } = history(t)
  put('x'.repeat(5000), FROM)
  put('y'.repeat(5000), FROM + 1)
  until(FROM + MINUTE)
  const narrow = new HistoryReader(store.db, createCodec(), 10)
  const query = { name: 'f.text', since: null, until: null, limit: 10 }
  const points = narrow.read({ ...query, bucket_s: null }, FROM + MINUTE)
  assert.deepEqual([points.items.length, points.truncated], [1, true])
  const bins = narrow.read({ ...query, bucket_s: 0.000001 }, FROM + MINUTE)
  assert.deepEqual([bins.items.length, bins.truncated], [1, true])
  assert.deepEqual(read().truncated, false)
})

test('bins with large last values end at their bytes too, and the next answer goes on with the bin before', t => {
  const { put, commit, until, read } = history(t)
  const large = 'x'.repeat(limits.MESSAGE_VALUE_BYTES / 4)
  for (let n = 0; n < 60; n++) {
    put(`${n} ${large}`, FROM + n * 1_000_000)
    if (n % 10 === 9) commit()
  }
  until(FROM + MINUTE)
  const seen: number[] = []
  let page = read<HistoryBin>({ bucket_s: 1 })
  for (;;) {
    assert.ok(page.items.length < 16)
    seen.unshift(...page.items.map(({ last }) => Number.parseInt(last as string, 10)))
    if (!page.truncated) break
    page = read<HistoryBin>({ bucket_s: 1, until: parseTime(page.items[0]!.ts) })
  }
  assert.deepEqual(
    seen,
    Array.from({ length: 60 }, (_, n) => n),
  )
})

test('bins that are put together from many rollups are whole at both ends of an answer', t => {
  const { put, commit, until, read } = history(t)
  const minutes = 3001
  for (let minute = 0; minute < minutes; minute++) {
    put(minute % 7 === 0 ? 'x'.repeat(4000) : minute, FROM + minute * MINUTE)
    if (minute % 500 === 0) commit()
  }
  until(FROM + minutes * MINUTE)
  const bucket_s = 180
  const starts = Array.from({ length: 1000 }, (_, i) => formatTime(FROM + i * 3 * MINUTE))
  const seen: HistoryBin[] = []
  for (let until_us: number | null = null; ; ) {
    const page = read<HistoryBin>({ bucket_s, limit: 333, until: until_us })
    assert.ok(page.items.length <= 333)
    seen.unshift(...page.items)
    if (!page.truncated) break
    until_us = parseTime(page.items[0]!.ts)
  }
  assert.deepEqual(
    seen.map(bin => bin.ts),
    starts,
  )
  for (const { count } of seen) assert.equal(count, 3)
  // 1,000 bins, a seventh of them with a last value of 4,000 bytes: that many go into one answer.
  assert.equal(read({ bucket_s }).items.length, 1000)
})
