import type { RecordKind, RecordRange, RecordWrite, StoredRecord } from '../../server/store/front/requests.ts'

/** Records of the service in memory. `refuse` makes every write fail, as a full disk would. */
export class RecordsDouble {
  readonly #held = new Map<RecordKind, Map<string, string>>()
  writes = 0
  refuse: Error | null = null

  async list(kind: RecordKind, range: Partial<Omit<RecordRange, 'kind'>> = {}): Promise<StoredRecord[]> {
    const { from = '', to = null, limit = Number.POSITIVE_INFINITY, newest_first = false } = range
    const found = [...(this.#held.get(kind) ?? [])]
      .map(([id, body]) => ({ id, body }))
      .filter(({ id }) => id >= from && (to === null || id < to))
      .sort((a, b) => (a.id < b.id ? -1 : 1))
    return (newest_first ? found.reverse() : found).slice(0, limit)
  }

  async write(records: readonly RecordWrite[]): Promise<null> {
    if (this.refuse) throw this.refuse
    this.writes++
    for (const { kind, id, body } of records) {
      let held = this.#held.get(kind)
      if (held === undefined) this.#held.set(kind, (held = new Map()))
      if (body === null) held.delete(id)
      else held.set(id, body)
    }
    return null
  }
}
