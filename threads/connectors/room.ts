import type { FlowTable } from '../../core/cascade/flows.ts'
import { limits } from '../../protocol/limits.ts'

interface Waiting {
  readonly downstream: readonly number[]
  readonly until_ms: number
  readonly go: () => void
}

/** Those who wait until flows have room again. One timer for all of them, and none while nobody waits. */
export class Room {
  readonly #flows: FlowTable
  readonly #waiting = new Set<Waiting>()
  #timer: NodeJS.Timeout | null = null

  constructor(flows: FlowTable) {
    this.#flows = flows
  }

  /** `downstream`: every flow that can be reached from there. Resolves in any case after `limits.CONNECTOR_ROOM_MS`. */
  wait(downstream: readonly number[]): Promise<void> {
    return new Promise(resolve => {
      const waiting: Waiting = {
        downstream,
        until_ms: performance.now() + limits.CONNECTOR_ROOM_MS,
        go: () => {
          this.#waiting.delete(waiting)
          resolve()
        },
      }
      this.#waiting.add(waiting)
      this.#timer ??= setInterval(() => this.#look(), limits.CONNECTOR_ROOM_LOOK_MS)
    })
  }

  #look(): void {
    const now_ms = performance.now()
    for (const waiting of [...this.#waiting]) if (waiting.until_ms <= now_ms || this.#hasRoom(waiting)) waiting.go()
    if (this.#waiting.size > 0 || this.#timer === null) return
    clearInterval(this.#timer)
    this.#timer = null
  }

  #hasRoom({ downstream }: Waiting): boolean {
    return downstream.every(flow => this.#flows.share(flow) < limits.FLOW_PRESSURE_EASED)
  }
}
