import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { limits } from '../../../protocol/limits.ts'
import {
  decodeUnderWay,
  encodeUnderWay,
  UNDER_WAY_BYTES,
  type UnderWayItem,
  type UnderWayTask,
} from '../../../threads/lane/under-way.ts'
import type { Log } from '../../observe/serve-log.ts'
import type { StoredWaiting } from '../../store/front/replies.ts'
import type { ResumedFlow } from '../../store/front/requests.ts'

/**
 * `under-way.bin`: what lanes were running of what had been queued again. It is there from each start to the next clean end, so a
 * start that finds it comes after an engine that died.
 */
export class UnderWayFile {
  readonly #path: string
  /** Null: the engine before ended in order, or there was none, or the file cannot be written. */
  readonly #items: readonly UnderWayItem[] | null

  /** What is marked and does not wait any more has run, or is gone: it is forgotten. */
  constructor(data_dir: string, waiting: readonly StoredWaiting[], log: Log) {
    this.#path = join(data_dir, 'under-way.bin')
    const marked = this.#open(log)
    const kept =
      marked?.filter(mark =>
        waiting.some(
          ({ flow, items }) => flow === mark.flow && items.some(item => isSame(mark, item.message, item.version)),
        ),
      ) ?? null
    if (kept !== null && kept.length < marked!.length) this.#write(encodeUnderWay(kept), log)
    this.#items = kept
  }

  #open(log: Log): UnderWayItem[] | null {
    try {
      const bytes = readFileSync(this.#path, { flag: 'r+' })
      if (bytes.length === UNDER_WAY_BYTES) return decodeUnderWay(bytes)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') {
        log.error('under_way_not_kept', { error })
        return null
      }
    }
    this.#write(encodeUnderWay([]), log)
    return null
  }

  /** Whole from the start: a disk that is full later takes the marks all the same. */
  #write(bytes: Buffer, log: Log): void {
    try {
      writeFileSync(this.#path, bytes, { mode: 0o600 })
    } catch (error) {
      log.error('under_way_not_kept', { error })
    }
  }

  /** The item was running in as many engines when they died as may die of one. */
  hasCrashed(flow: string, message: string, version: number): boolean {
    if (this.#items === null) return false
    const most = limits.ENGINE_DEATHS_OF_ITEM
    return this.#items.some(mark => mark.deaths >= most && mark.flow === flow && isSame(mark, message, version))
  }

  /** What lanes are to mark; null: nothing. */
  task(flows: readonly ResumedFlow[]): UnderWayTask | null {
    if (this.#items === null || flows.length === 0) return null
    const resumed = new Map(flows.map(({ flow, messages }) => [flow, messages.length]))
    return { path: this.#path, resumed, items: this.#items, turn: new SharedArrayBuffer(4) }
  }

  /** The engine ends in order. */
  close(): void {
    rmSync(this.#path, { force: true })
  }
}

const isSame = (mark: UnderWayItem, message: string, version: number): boolean =>
  mark.message === message && mark.version === version
