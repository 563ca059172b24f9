import { GROUP } from '../../../core/cascade/queue/item.ts'
import { limits } from '../../../protocol/limits.ts'
import type { Connection } from '../file/database.ts'
import { UnreadableRow } from '../file/unreadable.ts'
import { decodeWaiting } from './blob.ts'
import type { WaitingItem } from './items.ts'
import { WantedValues } from './values.ts'

/** The most items that a queue with its groups may hold. */
export const MOST_WAITING = limits.FLOW_WAITING_ITEMS * (limits.FLOW_WAITING_HARD_FACTOR + 2)

interface WaitingRow {
  readonly flow: number
  readonly count: number
  readonly bytes: Buffer
}

/**
 * The error in a row of `waiting` that SQLite can read; null when it is valid. A queue has the versions of a message in order, except
 * for reruns, and for messages that began again at 1 after their flow was deleted.
 */
export function faultOfRow({ count, bytes }: WaitingRow, began_again: ReadonlySet<number>): string | null {
  let items: WaitingItem[]
  try {
    items = decodeWaiting(bytes, MOST_WAITING)
  } catch (error) {
    return (error as Error).message
  }
  if (items.length !== count) return `it holds ${items.length} items, and its row says ${count}`
  const newest = new Map<number, number>()
  for (const [at, { message, version, group }] of items.entries()) {
    if (version < 1) return `item ${at} has version ${version}`
    if ((group & GROUP.again) !== 0 || began_again.has(message)) continue
    const before = newest.get(message) ?? 0
    if (version <= before) return `item ${at} of message ${message} has version ${version} and stands behind ${before}`
    newest.set(message, version)
  }
  return null
}

/** Messages whose versions began again. */
export const beganAgain = (db: Connection): Set<number> =>
  new Set(db.prepare('SELECT message FROM latest WHERE forgotten > 0').pluck().all() as number[])

/** Items whose value the history does not hold, by flow: a start would drop them, counted. Rows that cannot be read are left out. */
export function withoutValues(db: Connection): { flow: number; count: number; message: string; version: number }[] {
  const wanted = new WantedValues()
  const flows: { flow: number; items: WaitingItem[] }[] = []
  for (const { flow, bytes } of db.prepare('SELECT flow, bytes FROM waiting').iterate() as Iterable<WaitingRow>) {
    let items: WaitingItem[] = []
    try {
      items = decodeWaiting(bytes, MOST_WAITING)
    } catch {
      // The damaged row is reported as a finding of its own.
    }
    for (const { message, version } of items) wanted.want(message, version)
    flows.push({ flow, items })
  }
  try {
    wanted.read(db)
  } catch (error) {
    // The value may be in a row of the history that cannot be read.
    if (error instanceof UnreadableRow) return []
    throw error
  }
  const name = db.prepare('SELECT name FROM messages WHERE id = ?').pluck()
  return flows.flatMap(({ flow, items }) => {
    const missing = items.filter(({ message, version }) => wanted.value(message, version) === undefined)
    const [first] = missing
    if (first === undefined) return []
    const message = (name.get(first.message) as string | undefined) ?? `message ${first.message}`
    return [{ flow, count: missing.length, message, version: first.version }]
  })
}
