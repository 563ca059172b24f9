import type { Connection } from '../file/database.ts'
import { readable } from '../file/unreadable.ts'
import { eachGroup } from '../history/log.ts'
import { kindOf, lengthOf, PointBatch } from '../history/point-batch.ts'
import { PointDecoder } from '../history/point-chunk.ts'
import { hasPayload } from '../history/series.ts'

/** A point of the history, with its payload copied. */
export interface FoundValue {
  version: number
  ts: number
  kind: number
  number: number
  bytes: Buffer
}

/** What is searched for one message: these versions, and for each set the newest version that is not in it. */
interface Wanted {
  readonly versions: Set<number>
  readonly found: Map<number, FoundValue>
  readonly before: Map<ReadonlySet<number>, FoundValue | null>
}

const NOTHING = Buffer.alloc(0)

/**
 * Finds values of the history by their versions, in one pass over the log and, newest first, over the chunks of messages that
 * still miss some. A message that began again has a version twice; the newer one counts.
 */
export class WantedValues {
  readonly #messages = new Map<number, Wanted>()

  want(message: number, version: number): void {
    this.#of(message).versions.add(version)
  }

  /** The newest value that is not one of these. */
  wantBefore(message: number, versions: ReadonlySet<number>): void {
    this.#of(message).before.set(versions, null)
  }

  value(message: number, version: number): FoundValue | undefined {
    return this.#messages.get(message)?.found.get(version)
  }

  before(message: number, versions: ReadonlySet<number>): FoundValue | null {
    return this.#messages.get(message)?.before.get(versions) ?? null
  }

  /** Reads the values. Call it inside a transaction. */
  read(db: Connection): void {
    if (this.#messages.size === 0) return
    const decoder = new PointDecoder()
    const batch = new PointBatch()
    const log = db.prepare<[], { id: number; bytes: Buffer }>('SELECT id, bytes FROM log ORDER BY id DESC')
    for (const { id, bytes } of log.iterate()) {
      readable('log', { id }, () =>
        eachGroup(bytes, (message, at, end) => {
          const wanted = this.#messages.get(message)
          if (wanted === undefined) return
          batch.clear()
          decoder.decode(bytes, at, end, batch)
          take(wanted, batch)
        }),
      )
    }
    const chunks = db.prepare<[number], { id: number; ts_max: number; bytes: Buffer }>(
      'SELECT id, ts_max, bytes FROM chunks WHERE message = ? ORDER BY ts_max DESC, id DESC',
    )
    for (const [message, wanted] of this.#messages) {
      for (const { id, ts_max, bytes } of chunks.iterate(message)) {
        if (isServed(wanted, ts_max)) break
        batch.clear()
        readable('chunks', { id }, () => decoder.decode(bytes, 0, bytes.length, batch))
        take(wanted, batch)
      }
    }
  }

  #of(message: number): Wanted {
    let wanted = this.#messages.get(message)
    if (wanted === undefined) {
      wanted = { versions: new Set(), found: new Map(), before: new Map() }
      this.#messages.set(message, wanted)
    }
    return wanted
  }
}

function take({ versions, found, before }: Wanted, batch: PointBatch): void {
  for (let i = 0; i < batch.count; i++) {
    const version = batch.version[i]!
    const ts = batch.ts[i]!
    if (versions.has(version) && ts > (found.get(version)?.ts ?? -1)) found.set(version, copied(batch, i))
    for (const [excluded, newest] of before) {
      if (excluded.has(version)) continue
      if (newest === null || ts > newest.ts || (ts === newest.ts && version > newest.version))
        before.set(excluded, copied(batch, i))
    }
  }
}

/** Whether nothing older than `ts_max` can be wanted. */
function isServed({ versions, found, before }: Wanted, ts_max: number): boolean {
  if (found.size < versions.size) return false
  for (const one of found.values()) if (one.ts < ts_max) return false
  for (const newest of before.values()) if (newest === null || newest.ts < ts_max) return false
  return true
}

function copied(batch: PointBatch, i: number): FoundValue {
  const meta = batch.meta[i]!
  const kind = kindOf(meta)
  const has_payload = hasPayload(kind)
  return {
    version: batch.version[i]!,
    ts: batch.ts[i]!,
    kind,
    number: has_payload ? 0 : batch.number[i]!,
    bytes: has_payload && lengthOf(meta) > 0 ? batch.copyPayload(i) : NOTHING,
  }
}
