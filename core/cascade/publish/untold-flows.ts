import type { FlowTable } from '../flows.ts'
import type { ReadySet } from '../queue/ready.ts'

/** Flows that got an item from this thread since its last mark: nobody may take it before the mark, so they are notified only then. */
export class UntoldFlows {
  readonly #ready: ReadySet
  readonly #untold: number[] = []
  readonly #is_untold: Uint8Array

  constructor(flows: FlowTable, ready: ReadySet) {
    this.#ready = ready
    this.#is_untold = new Uint8Array(flows.size)
  }

  add(flow: number): void {
    if (this.#is_untold[flow] !== 0) return
    this.#is_untold[flow] = 1
    this.#untold.push(flow)
  }

  /** The mark is a full barrier before this. */
  tell(): void {
    const untold = this.#untold
    for (let i = 0; i < untold.length; i++) {
      this.#is_untold[untold[i]!] = 0
      this.#ready.markReady(untold[i]!)
    }
    untold.length = 0
  }
}
