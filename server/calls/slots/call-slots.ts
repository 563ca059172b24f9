import type { PlanNode } from '../../../core/flow/plan.ts'
import { limits } from '../../../protocol/limits.ts'
import type { CallPlace as BodyFolders } from '../../../threads/calls/call.ts'
import type { BodyCall, BodyRequest, CallPlaces } from '../body-call.ts'
import { SlotTeam } from './slot-team.ts'

export interface CallSlotsOptions extends BodyFolders {
  readonly slots: number
  readonly heap_mb: number
  /** A slot that has not begun a call for so long is replaced. */
  readonly begin_ms: number
  /** What is masked in texts. */
  readonly masks: SharedArrayBuffer
  /** What a body of the node asks for; null: there is no such secret. */
  secret(node: string, name: string): string | null
  /** What bodies print is printed, too. */
  readonly prints?: boolean
}

/**
 * Call slots: threads that start with the first call. A thread that nears its heap cap is ended before it can take the process with it.
 * Modules are loaded again by a fresh team of threads; the old one ends when its last call has.
 */
export class CallSlots implements CallPlaces {
  readonly #options: CallSlotsOptions
  /** Of nodes that batch runs have called. */
  readonly #keys = new WeakMap<PlanNode, number>()
  #key = 0
  #team: SlotTeam | null = null
  /** Where each call that has not ended was taken. */
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

  /** Ends the threads whose calls near the heap cap, and those that do not begin theirs; called a few times a second. */
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

  /** Calls from now on load their modules again; those that run finish on the threads that they have. */
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

  /** The node of a live call is a copy made for that call; the nodes of a run are the same objects in each of its calls. */
  #keyOf({ run, node }: BodyRequest): number | null {
    if (run === null) return null
    let key = this.#keys.get(node)
    if (key === undefined) this.#keys.set(node, (key = ++this.#key))
    return key
  }
}
