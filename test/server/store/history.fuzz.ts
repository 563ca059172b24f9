import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { HistoryBin, HistoryPoint, MessageHistory } from '../../../protocol/nouns/message.ts'
import { formatTime, parseTime } from '../../../protocol/time.ts'
import { createCodec, newEncoded } from '../../../protocol/values/codec.ts'
import type { Dtype } from '../../../protocol/values/dtype.ts'
import { KIND } from '../../../protocol/values/encoded.ts'
import type { StoreBounds } from '../../../server/store/file/bounds.ts'
import { randomFrom, seed } from '../../kit/random.ts'
import { type Started, saving, startStore, temporaryDirectory } from '../../kit/stored.ts'

/** So small that every way a point can take is taken: log, seal, small chunks, joined chunks, chunks at once. */
const bounds: Partial<StoreBounds> = {
  log_rows: 4,
  log_bytes: 2000,
  direct_points: 12,
  direct_bytes: 600,
  chunk_points: 20,
  join_chunks: 4,
  group_commit_ms: 1,
  answer_bytes: 700,
}

interface Point {
  ts: number
  version: number
  value: unknown
  /** Of its payload. */
  bytes: number
}

const MINUTE = 60_000_000
const random = randomFrom(seed)
const below = (end: number): number => Math.floor(random() * end)
const values: Record<string, { dtype: Dtype; value: () => unknown }> = {
  'f.float': { dtype: 'float', value: () => (random() < 0.5 ? random() * 1e6 : below(1000) / 10) },
  'f.int': { dtype: 'int', value: () => below(2 ** 31) - 2 ** 30 },
  'f.bool': { dtype: 'bool', value: () => random() < 0.5 },
  'f.str': { dtype: 'str', value: () => 'å'.repeat(below(random() < 0.1 ? 400 : 20)) },
  'f.json': { dtype: 'json', value: () => [null, below(9), { deep: [below(9)] }, 'text', random()][below(5)] },
}
const names = Object.keys(values)

const codec = createCodec()
const encoded = newEncoded()
const payloadBytes = (name: string, value: unknown): number => {
  assert.equal(codec.encode(value, values[name]!.dtype, encoded), null)
  return encoded.kind === KIND.str || encoded.kind === KIND.json ? encoded.length : 0
}

/** The newest of the list that one answer holds: at most `limit`, and payloads up to the bound, but always one. */
function newest<Item>(list: Item[], limit: number, bytesOf: (item: Item) => number): Item[] {
  let from = list.length
  for (let bytes = 0; from > 0 && list.length - from < limit; from--) {
    bytes += bytesOf(list[from - 1]!)
    if (bytes > bounds.answer_bytes! && from < list.length) break
  }
  return list.slice(from)
}

const asRecorded = (value: unknown): unknown => (typeof value === 'boolean' ? Number(value) : value)

/** What a reader should see, from the points alone. */
class Model {
  readonly points = new Map(names.map(name => [name, [] as Point[]]))

  window(name: string, since: number | null, until: number | null): Point[] {
    return this.points
      .get(name)!
      .filter(({ ts }) => ts >= (since ?? 0) && ts < (until ?? Number.POSITIVE_INFINITY))
      .sort((a, b) => a.ts - b.ts || a.version - b.version)
  }

  bins(name: string, since: number | null, until: number | null, width: number): (HistoryBin & { bytes: number })[] {
    const groups = new Map<number, Point[]>()
    for (const point of this.window(name, null, null)) {
      const start = Math.floor(point.ts / width) * width
      if (since !== null && start + width <= since) continue
      if (until !== null && start >= until) continue
      groups.set(start, [...(groups.get(start) ?? []), point])
    }
    return [...groups].map(([start, list]) => {
      const numbers = list.map(point => Number(point.value))
      const numeric = !['f.str', 'f.json'].includes(name)
      return {
        ts: formatTime(start),
        count: list.length,
        min: numeric ? Math.min(...numbers) : null,
        max: numeric ? Math.max(...numbers) : null,
        mean: numeric ? numbers.reduce((sum, number) => sum + number, 0) / numbers.length : null,
        last: list.at(-1)!.value,
        bytes: list.at(-1)!.bytes,
      }
    })
  }
}

async function compare(started: Started, model: Model, from: number, to: number): Promise<void> {
  const edge = (): number | null => (random() < 0.3 ? null : from + below(to - from))
  for (const name of names) {
    const since = edge()
    const until = edge()
    const limit = 1 + below(200)
    const expected = model.window(name, since, until)
    let from: HistoryPoint | undefined
    for (let left = expected; ; ) {
      const points: MessageHistory = await started.store.history({
        name,
        since,
        until: from === undefined ? until : parseTime(from.ts),
        until_version: from?.version ?? null,
        limit,
        bucket_s: null,
      })
      const page = newest(left, limit, point => point.bytes)
      left = left.slice(0, left.length - page.length)
      assert.deepEqual(
        points.items,
        page.map(({ ts, version, value }): HistoryPoint => ({ ts: formatTime(ts), version, value })),
        `${name} since ${since} until ${until} limit ${limit}, ${left.length} left`,
      )
      assert.equal(points.truncated, left.length > 0)
      if (!points.truncated) break
      from = points.items[0] as HistoryPoint
    }

    const bucket_s = [60, 3600, 300, 7, 0.25][below(5)]!
    const bins = await started.store.history({ name, since, until, limit, bucket_s })
    const wanted = model.bins(name, since, until, bucket_s * 1e6)
    const shown = newest(wanted, limit, bin => bin.bytes)
    const place = `${name} since ${since} until ${until} limit ${limit} bucket ${bucket_s}`
    assert.equal(bins.truncated, wanted.length > shown.length, place)
    const rounded = (list: HistoryBin[]): unknown =>
      list.map(bin => ({ ...bin, mean: bin.mean === null ? null : Number(bin.mean.toPrecision(9)) }))
    assert.deepEqual(rounded(bins.items as HistoryBin[]), rounded(shown.map(({ bytes: _, ...bin }) => bin)), place)
  }
}

test(`history is what was published, through commits, seals, joins and restarts (seed ${seed})`, async t => {
  const data_dir = temporaryDirectory(t)
  const model = new Model()
  const versions = new Map<string, number>()
  const rounds = process.env['LONG'] ? 1500 : 120
  // Long enough ago that the last point is over too: every bin is closed.
  const from = Math.floor(Date.now() / 3_600_000 - rounds) * 3_600_000_000
  let now = from
  let started = await startStore(t, data_dir, { bounds })
  await started.store.saveFlow(saving('f'))
  const declare = (): void => {
    for (const name of names) started.journal.declare(name, values[name]!.dtype, versions.get(name) ?? 0)
  }
  declare()
  for (let round = 0; round < rounds; round++) {
    const name = names[below(names.length)]!
    const many = random() < 0.2 ? below(60) : below(5)
    // Points of one microsecond too, sometimes a chunk of them: pages part them.
    const still = random() < 0.15 ? 1 : 0.2
    for (let i = 0; i < many; i++) {
      if (random() >= still) now += below(random() < 0.02 ? 20 * MINUTE : MINUTE / 10)
      const ts = now - (random() < 0.05 ? below(10 * MINUTE) : 0)
      const value = values[name]!.value()
      const version = started.journal.put(name, value, ts)
      versions.set(name, version)
      model.points.get(name)!.push({ ts, version, value: asRecorded(value), bytes: payloadBytes(name, value) })
    }
    started.journal.writer.mark()
    if (random() < 0.7) await started.store.flush()
    if (random() < 0.04) {
      await started.close()
      started = await startStore(t, data_dir, { bounds })
      for (const { name, version } of started.loaded.values) assert.equal(version, versions.get(name), name)
      declare()
    }
    if (random() < 0.1) {
      await started.store.flush()
      await compare(started, model, from, now + MINUTE)
    }
  }
  await started.store.flush()
  for (let i = 0; i < 10; i++) await compare(started, model, from, now + MINUTE)
})
