import type { Connection } from '../file/database.ts'
import { readable } from '../file/unreadable.ts'
import type { StoredWaiting } from '../front/replies.ts'
import type { Registry } from '../writer/registry.ts'
import { decodeWaiting } from './blob.ts'
import { MOST_WAITING } from './check.ts'
import { type FoundValue, WantedValues } from './values.ts'

/**
 * The items that each flow had not consumed when the engine ended, with their values, and the values that messages had before the first
 * of these items. Inside the start's transaction, after the history was loaded.
 */
export function readWaiting(db: Connection, registry: Registry): StoredWaiting[] {
  db.prepare('DELETE FROM waiting WHERE flow NOT IN (SELECT id FROM flows WHERE deleted = 0)').run()
  const rows = db.prepare('SELECT id, name, count, bytes FROM waiting JOIN flows ON id = flow ORDER BY name').all() as {
    id: number
    name: string
    count: number
    bytes: Buffer
  }[]
  const wanted = new WantedValues()
  const flows = rows.map(({ id, name, count, bytes }) => {
    const items = readable('waiting', { flow: id }, () => decodeWaiting(bytes, MOST_WAITING))
    const versions = new Map<number, Set<number>>()
    for (const { message, version } of items) {
      wanted.want(message, version)
      const those = versions.get(message)
      if (those === undefined) versions.set(message, new Set([version]))
      else those.add(version)
    }
    for (const [message, those] of versions) wanted.wantBefore(message, those)
    return { name, count, items, versions }
  })
  wanted.read(db)
  return flows.map(({ name, count, items, versions }): StoredWaiting => {
    const found = items.flatMap(item => {
      const series = registry.byId(item.message)
      const value = series === undefined ? undefined : wanted.value(item.message, item.version)
      return value === undefined
        ? []
        : [
            {
              ...value,
              message: series!.name,
              depth: item.depth,
              group: item.group,
              parent_seq: item.parent_seq,
              parent_ts: item.parent_ts,
            },
          ]
    })
    const standing = [...versions].flatMap(([message, those]) => {
      const series = registry.byId(message)
      if (series === undefined) return []
      const value = wanted.before(message, those)
      return [{ message: series.name, dtype: series.dtype, ...(value ?? NO_VALUE) }]
    })
    return { flow: name, items: found, standing, lost: Math.max(0, Math.max(count, items.length) - found.length) }
  })
}

const NO_VALUE: FoundValue = { version: 0, ts: 0, kind: 0, number: 0, bytes: Buffer.alloc(0) }
