import type { FlowRun } from '../../core/cascade/flow-run.ts'
import type { Seat } from '../../core/cascade/seat.ts'

interface Wait {
  readonly emitter: Seat
  readonly resolve: () => void
}

/** Bodies that await `ctx.emit`: they go on when what they emitted has run, as far as it runs inline, and their flow is below its bound. */
export class EmitWaits {
  readonly #waits = new Map<FlowRun, Wait[]>()

  wait(flow: FlowRun, emitter: Seat): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const waits = this.#waits.get(flow)
    if (waits === undefined) this.#waits.set(flow, [{ emitter, resolve }])
    else waits.push({ emitter, resolve })
    return promise
  }

  /** At the end of each turn of the flow. */
  letGoOn(flow: FlowRun): void {
    const waits = this.#waits.get(flow)
    if (waits === undefined) return
    const left = waits.filter(({ emitter, resolve }) => {
      if (!flow.hasRunAllBut(emitter.mailbox)) return true
      resolve()
      return false
    })
    if (left.length > 0) this.#waits.set(flow, left)
    else this.#waits.delete(flow)
  }

  /** The flow has ended here. */
  letGo(flow: FlowRun): void {
    for (const { resolve } of this.#waits.get(flow) ?? []) resolve()
    this.#waits.delete(flow)
  }
}
