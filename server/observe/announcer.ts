import type { Masks } from '../../core/masks/table.ts'
import type { DiskFault } from '../../protocol/disk-faults.ts'
import type { EngineEvent, EventType } from '../../protocol/nouns/event.ts'
import { formatTime } from '../../protocol/time.ts'
import type { Fanout } from '../fanout/fanout.ts'
import type { Store } from '../store/front/client.ts'
import type { Damage, StoreHealth } from '../store/front/replies.ts'
import type { Log } from './serve-log.ts'

export interface AnnouncerParts {
  readonly store: Pick<Store, 'event' | 'followDamage' | 'followHealth'>
  readonly fanout: Pick<Fanout, 'event'>
  readonly log: Log
  readonly masks: Masks
  now_us(): number
}

/** Events of the engine itself: kept by the store, and sent to every socket that asked for events. */
export class Announcer {
  readonly #parts: AnnouncerParts
  #fault: DiskFault | null = null

  constructor(parts: AnnouncerParts) {
    this.#parts = parts
    parts.store.followDamage(damage => this.#damaged(damage))
    parts.store.followHealth(health => this.#storeHealth(health))
  }

  readonly announce = (type: EventType, flow: string | null, more: Record<string, unknown> = {}): void => {
    const event: EngineEvent = {
      type,
      ts: formatTime(this.#parts.now_us()),
      flow,
      run: null,
      ...this.#parts.masks.deep(more),
    }
    this.#parts.store.event(event)
    this.#parts.fanout.event(event)
  }

  /** What of the database could not be read. The row itself is in quarantine.jsonl. */
  #damaged({ flow, ...damage }: Damage): void {
    this.#parts.log.error('data_damaged', { ...damage, flow })
    this.announce('data_damaged', flow, { ...damage })
  }

  /** Announces what the disk refuses and its end once each. The former is not kept, since the disk takes nothing, so the latter says what it was. */
  #storeHealth({ fault, dropped }: StoreHealth): void {
    const before = this.#fault
    if (fault?.code === before?.code) return
    this.#fault = fault
    const type = fault === null ? 'disk_recovered' : fault.code === 'disk_read_only' ? 'disk_failed' : fault.code
    const { code, reason } = (fault ?? before)!
    const told = { code, reason, dropped }
    this.#parts.log.warn(type, told)
    this.announce(type, null, told)
  }
}
