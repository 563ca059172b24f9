import type { Tokens } from '../../server/auth/tokens.ts'
import { type DashboardRecords, Dashboards } from '../../server/dashboards/dashboards.ts'
import { Locks } from '../../server/dashboards/locks.ts'
import { Panels } from '../../server/panels/panels.ts'
import type { ReachNow } from '../../server/panels/reach.ts'
import type { RecordRange, RecordWrite, StoredRecord } from '../../server/store/front/requests.ts'

/** The records of the store, in memory. `refuse` is thrown at the next write. */
export class RecordsDouble implements DashboardRecords {
  readonly rows = new Map<string, string>()
  refuse: Error | null = null

  async list(kind: string, range: Partial<Omit<RecordRange, 'kind'>> = {}): Promise<StoredRecord[]> {
    const { from = '', to = null, limit = Number.POSITIVE_INFINITY, newest_first = false } = range
    const found = [...this.rows]
      .map(([key, body]) => ({ kind: key.slice(0, key.indexOf(' ')), id: key.slice(key.indexOf(' ') + 1), body }))
      .filter(row => row.kind === kind && row.id >= from && (to === null || row.id < to))
      .sort((a, b) => (a.id < b.id ? -1 : 1))
      .map(({ id, body }) => ({ id, body }))
    return (newest_first ? found.reverse() : found).slice(0, limit)
  }

  async write(records: readonly RecordWrite[]): Promise<void> {
    const { refuse } = this
    this.refuse = null
    await Promise.resolve()
    if (refuse !== null) throw refuse
    for (const { kind, id, body } of records)
      if (body === null) this.rows.delete(`${kind} ${id}`)
      else this.rows.set(`${kind} ${id}`, body)
  }
}

interface Given {
  readonly records?: RecordsDouble
  readonly messages?: { get(name: string): unknown }
  readonly now?: ReachNow
  readonly announced?: Record<string, unknown>[]
  mint?(panel: string, nonce: string): Promise<string>
  now_ms(): number
}

/** Dashboards and panels without an engine: there are no messages, so locks are closed. */
export async function screens(
  given: Given,
): Promise<{ dashboards: Dashboards; panels: Panels; records: RecordsDouble }> {
  const { records = new RecordsDouble(), now_ms, announced = [] } = given
  const now_us = (): number => now_ms() * 1000
  const dashboards = new Dashboards({
    records,
    locks: new Locks({ directory: { indexOf: () => -1 }, values: { version: () => 0, read: () => false } }),
    messages: given.messages ?? { get: () => undefined },
    flows: { find: () => undefined },
    announce: (type, flow, more) => announced.push({ type, flow, ...more }),
    now_us,
  })
  await dashboards.load()
  const panels = await Panels.open({
    records,
    dashboards,
    now: given.now ?? { isClosed: () => true, wasShown: () => false },
    mint: given.mint ?? (async (panel, nonce) => `${panel} ${nonce}`),
    now_us,
    steady_ms: now_ms,
  })
  return { dashboards, panels, records }
}

export const mintPanel =
  (tokens: Tokens) =>
  (panel: string, nonce: string): Promise<string> =>
    tokens.mint('panel', panel, nonce, 3600)
