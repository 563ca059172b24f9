import { setTimeout as sleep } from 'node:timers/promises'
import { nowUs } from '../../protocol/time.ts'
import { newEncoded } from '../../protocol/values/codec.ts'
import { KIND } from '../../protocol/values/encoded.ts'
import type { FrontMemory } from '../lanes/front-memory.ts'

export interface EndedFlow {
  readonly name: string
  readonly index: number
  readonly messages: readonly number[]
}

const LOOK_MS = 2

/**
 * Deleted flows whose lane has not let go of them yet. When it has, what waited is thrown away, counted, and their messages
 * have no value any more. Rows outlive names: a new flow of the same name gets the same rows, so it waits until they are empty.
 */
export class EndedFlows {
  readonly #front: FrontMemory
  readonly #dropped: (flow: string, reason: string, count: number) => void
  readonly #ending = new Map<number, Promise<void>>()
  #closed = false

  constructor(front: FrontMemory, dropped: (flow: string, reason: string, count: number) => void) {
    this.#front = front
    this.#dropped = dropped
  }

  /** The lanes have been told. */
  add(flow: EndedFlow): void {
    const ended = this.#end(flow)
    this.#ending.set(flow.index, ended)
    ended.finally(() => this.#ending.delete(flow.index))
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

  async #end({ name, index, messages }: EndedFlow): Promise<void> {
    let waiting = this.#front.emptyFlow(index)
    while (waiting < 0) {
      if (this.#closed) return
      await sleep(LOOK_MS)
      waiting = this.#front.emptyFlow(index)
    }
    for (const message of messages) clearMessage(this.#front, message, index)
    this.#front.journal.mark()
    if (waiting > 0) this.#dropped(name, 'flow_deleted', waiting)
  }
}

/** The message has no value until the next publish; its version goes on. */
export function clearMessage(front: FrontMemory, message: number, flow: number): void {
  const read = { ...newEncoded(), version: 0, ts: 0 }
  if (!front.messages.read(message, read) || read.kind === KIND.none) return
  const { version } = read
  const nothing = { ...newEncoded(), kind: KIND.none, length: 0 }
  front.publisher.seed({ message, flow, queued: false, foreign: [], downstream: [] }, nothing, nowUs(), version + 1)
}
