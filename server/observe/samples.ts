import { SLOT, THREAD_ROW } from '../../core/memory/threads.ts'
import { limits } from '../../protocol/limits.ts'
import type { CascadeCounts } from '../fanout/cascade-counts.ts'
import type { Fanout } from '../fanout/fanout.ts'
import type { LiveFlows } from '../flows/flows.ts'
import type { LiveMessages } from '../flows/messages.ts'
import type { FrontMemory } from '../lanes/front-memory.ts'
import type { Store } from '../store/front/client.ts'

export interface SamplesParts {
  front: FrontMemory
  store: Store
  flows: LiveFlows
  messages: LiveMessages
  cascades: CascadeCounts
  fanout: Fanout
}

/** What may have waited at most is looked at this often. */
const LOOK_MS = 1_000

/** The engine's own figures, every ten seconds, for the time series. */
export class Samples {
  readonly #parts: SamplesParts
  #before = { published: 0, executions: 0, errors: 0, cascades: 0 }
  #waiting = 0
  #sockets = 0
  #timer: NodeJS.Timeout | null = null
  #looks = 0

  constructor(parts: SamplesParts) {
    this.#parts = parts
  }

  start(): void {
    this.#timer = setInterval(() => this.#look(), LOOK_MS)
    this.#timer.unref()
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer)
  }

  #look(): void {
    const { front, flows, fanout } = this.#parts
    let waiting = 0
    for (const flow of flows.all()) waiting += Math.max(0, front.flows.waiting(flow.index))
    this.#waiting = Math.max(this.#waiting, waiting)
    this.#sockets = Math.max(this.#sockets, fanout.counts().followers)
    if (++this.#looks % (limits.SAMPLE_MS / LOOK_MS) === 0) this.#sample()
  }

  #sample(): void {
    const { store, messages, cascades, front } = this.#parts
    const totals = cascades.totals()
    let inside = 0
    // A replaced lane starts its row at 0 again; what it had published by then is in the history all the same.
    for (let slot: number = SLOT.lane; slot < SLOT.lane + limits.LANE_SLOTS; slot++) {
      inside += front.memory.f64[(front.threads.row(slot) >> 3) + THREAD_ROW.word.published]!
    }
    const now = {
      published: messages.published + inside,
      executions: totals.executions,
      errors: totals.errors,
      cascades: totals.succeeded + totals.failed + totals.interrupted,
    }
    const since = (key: keyof typeof now): number => Math.max(0, now[key] - this.#before[key])
    store.sample({
      ts: this.#parts.front.clock.now_us(),
      published: since('published'),
      executions: since('executions'),
      errors: since('errors'),
      cascades: since('cascades'),
      waiting: this.#waiting,
      sockets: this.#sockets,
    })
    this.#before = now
    this.#waiting = 0
    this.#sockets = 0
  }
}
