import type { PlanNode } from '../../../core/flow/plan.ts'
import { limits } from '../../../protocol/limits.ts'
import type { CallPlace as BodyFolders } from '../../../threads/calls/call.ts'
import type { BodyCall, BodyRequest, CallPlaces } from '../body-call.ts'
import { SlotTeam } from './slot-team.ts'

export interface CallSlotsOptions extends BodyFolders {
  readonly slots: number
  readonly heap_mb: number
  /** A slot that has not begun its call after this time is replaced. */
  readonly begin_ms: number
  /** The table of masks. */
  readonly masks: SharedArrayBuffer
  /** A secret that a body of the node requests; null when it does not exist. */
  secret(node: string, name: string): string | null
  /** Also print what bodies print. */
  readonly prints?: boolean
}

/**
 * Call slots: threads that start with the first call. A thread that nears its heap limit is ended, since running out of heap ends the process.
 * To load modules again, a new team of threads is started; the old one ends when its last call has ended.
 */
export class CallSlots implements CallPlaces {
  readonly #options: CallSlotsOptions
  /** Keys of nodes that batch runs have called. */
  readonly #keys = new WeakMap<PlanNode, number>()
  #key = 0
  #team: SlotTeam | null = null
  /** The team of each call that has not ended. */
  readonly #teams = new WeakMap<BodyCall, SlotTeam>()
  readonly #retiring = new Map<SlotTeam, Promise<void>>()

  constructor(options: CallSlotsOptions) {
    this.#options = options
  }

  take(call: BodyCall): void {
    const team = (this.#team ??= this.#newTeam())
    this.#teams.set(call, team)
    team.take(call)
  }

  drop(call: BodyCall): void {
    this.#teams.get(call)?.drop(call)
  }

  /** Called a few times a second: ends threads that near the heap limit, and threads that do not begin their call. */
  watch(): void {
    for (const team of [...this.#retiring.keys(), this.#team]) team?.endStuck(this.#options.begin_ms)
    this.#watchHeaps()
  }

  #watchHeaps(): void {
    for (const team of [...this.#retiring.keys(), this.#team])
      for (const { call, worker } of team?.slots ?? [])
        if (call !== null && worker !== null)
          worker.getHeapStatistics().then(
            heap => this.#weigh(call, heap.used_heap_size),
            // It ended meanwhile.
            () => {},
          )
  }

  #weigh(call: BodyCall, bytes: number): void {
    if (bytes < this.#options.heap_mb * 2 ** 20 * limits.HEAP_END_SHARE) return
    call.kill('out_of_memory', `It held ${Math.round(bytes / 2 ** 20)} MiB of heap.`)
  }

  /** Later calls load their modules again. Calls that run finish on their threads. */
  refresh(): void {
    const team = this.#team
    if (team === null) return
    this.#team = null
    this.#retiring.set(
      team,
      team.retire().finally(() => this.#retiring.delete(team)),
    )
  }

  async close(): Promise<void> {
    await this.#team?.close()
    await Promise.allSettled(this.#retiring.values())
  }

  #newTeam(): SlotTeam {
    const { slots, heap_mb, bodies, artifacts, masks, secret, prints = false } = this.#options
    const keyOf = (request: BodyRequest): number | null => this.#keyOf(request)
    return new SlotTeam({ slots, heap_mb, bodies, artifacts, masks, secret, prints, keyOf })
  }

  /** Null for live calls: each has a copy of its node. The nodes of a run are the same objects in all of its calls. */
  #keyOf({ run, node }: BodyRequest): number | null {
    if (run === null) return null
    let key = this.#keys.get(node)
    if (key === undefined) this.#keys.set(node, (key = ++this.#key))
    return key
  }
}
