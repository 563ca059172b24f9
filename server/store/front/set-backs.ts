import { limits } from '../../../protocol/limits.ts'
import { parseSetBacks, SET_BACKS, type SetBack, withSetBack } from '../history/set-backs.ts'
import type { Store } from './client.ts'
import type { Loaded } from './replies.ts'

/** Records when the machine's clock was set back, for readers of the history. */
export class SetBacks {
  readonly #store: Pick<Store, 'putSetting'>
  #all: SetBack[]

  constructor(store: Pick<Store, 'putSetting'>, { settings }: Pick<Loaded, 'settings'>) {
    this.#store = store
    this.#all = parseSetBacks(settings[SET_BACKS])
  }

  async add({ to_us, from_us, ahead_us }: SetBack): Promise<void> {
    this.#all = withSetBack(this.#all, { to_us, from_us, ahead_us })
    await this.#store.putSetting(SET_BACKS, JSON.stringify(this.#all))
  }

  /** Adds a set-back that happened while no engine ran: a value has a time in the future. */
  async addMissed({ values }: Pick<Loaded, 'values'>, now_us: number): Promise<void> {
    const ahead = values.map(({ ts }) => ts).filter(ts => ts > now_us + limits.CLOCK_JUMP_MS * 1000)
    if (ahead.length === 0) return
    const [ahead_us, from_us] = ahead.reduce(
      ([least, most], ts) => [Math.min(least!, ts), Math.max(most!, ts)],
      [Number.POSITIVE_INFINITY, 0],
    ) as [number, number]
    if (this.#all.some(known => known.to_us <= ahead_us && known.from_us >= from_us)) return
    await this.add({ to_us: now_us, from_us, ahead_us })
  }
}
