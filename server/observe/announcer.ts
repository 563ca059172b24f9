import type { EngineEvent, EventType } from '../../protocol/nouns/event.ts'
import { formatTime, nowUs } from '../../protocol/time.ts'
import type { Fanout } from '../fanout/fanout.ts'
import type { Store } from '../store/front/client.ts'
import type { StoreHealth } from '../store/front/replies.ts'
import type { Log } from './serve-log.ts'

export interface AnnouncerParts {
  readonly store: Pick<Store, 'event' | 'followHealth'>
  readonly fanout: Pick<Fanout, 'event'>
  readonly log: Log
}

/** Events of the engine itself: kept by the store, and sent to every socket that asked for events. */
export class Announcer {
  readonly #parts: AnnouncerParts
  #disk_full = false

  constructor(parts: AnnouncerParts) {
    this.#parts = parts
    parts.store.followHealth(health => this.#storeHealth(health))
  }

  readonly announce = (type: EventType, flow: string | null, more: Record<string, unknown> = {}): void => {
    const event: EngineEvent = { type, ts: formatTime(nowUs()), flow, run: null, ...more }
    this.#parts.store.event(event)
    this.#parts.fanout.event(event)
  }

  /** Announces a full disk and its end once each. The event `disk_full` is not kept: there is no room for it. */
  #storeHealth({ disk_full, dropped }: StoreHealth): void {
    if (disk_full === this.#disk_full) return
    this.#disk_full = disk_full
    const type = disk_full ? 'disk_full' : 'disk_recovered'
    this.#parts.log.warn(type, { dropped })
    this.announce(type, null, { dropped })
  }
}
