import { setTimeout as sleep } from 'node:timers/promises'
import type { FrontMemory } from '../../lanes/front-memory.ts'
import { buryStates, clearMessage, dropHeld, dropTimed } from './bury.ts'

export interface EndedFlow {
  readonly name: string
  readonly index: number
  readonly messages: readonly number[]
  readonly nodes: readonly number[]
  /** Its version when it ended; 0: it is there now and begins. */
  readonly version: number
}

const LOOK_MS = 2

/**
 * Deleted flows whose lane has not let go of them yet. When it has, what waited is thrown away, counted, and their messages
 * have no value any more. Rows outlive names: a new flow of the same name gets the same rows, so it waits until they are empty.
 */
export class EndedFlows {
  readonly #front: FrontMemory
  readonly #dropped: (flow: string, reason: string, count: number) => void
  readonly #onDefect: (error: unknown) => void
  readonly #ending = new Map<number, Promise<void>>()
  #closed = false

  constructor(
    front: FrontMemory,
    dropped: (flow: string, reason: string, count: number) => void,
    onDefect: (error: unknown) => void,
  ) {
    this.#front = front
    this.#dropped = dropped
    this.#onDefect = onDefect
  }

  /** The lanes have been told. */
  add(flow: EndedFlow): void {
    const ended = this.#end(flow)
      .catch(this.#onDefect)
      .finally(() => this.#ending.delete(flow.index))
    this.#ending.set(flow.index, ended)
  }

  /** Of flows that some lane has not let go of yet. */
  get indexes(): Iterable<number> {
    return this.#ending.keys()
  }

  /**
   * Before a new flow takes these rows: resolves when nothing of an earlier one stands in them. What a publisher that had
   * not heard of the end put there since goes as well.
   */
  async emptied(flow: EndedFlow): Promise<void> {
    await this.#ending.get(flow.index)
    await this.#end(flow)
  }

  close(): void {
    this.#closed = true
  }

  async #end({ name, index, messages, nodes, version }: EndedFlow): Promise<void> {
    let waiting = this.#front.emptyFlow(index)
    while (waiting < 0) {
      if (this.#closed) return
      await sleep(LOOK_MS)
      waiting = this.#front.emptyFlow(index)
    }
    for (const message of messages) {
      clearMessage(this.#front, message, index)
      if (dropHeld(this.#front, message, index)) waiting++
      waiting += dropTimed(this.#front, message, index)
    }
    await buryStates(this.#front, nodes, version + 1)
    if (waiting > 0) this.#dropped(name, 'flow_deleted', waiting)
  }
}
