import type { PlanNode } from '../../../core/flow/plan.ts'
import { Masks } from '../../../core/masks/table.ts'
import { limits } from '../../../protocol/limits.ts'
import type { ArtifactPlace } from '../../../threads/calls/artifact-files.ts'
import { volatileStore } from '../../../threads/calls/volatile-hands.ts'
import type { CallGrant } from '../../../threads/lane/messages.ts'
import type { BodyCall, CallPlaces } from '../body-call.ts'
import type { ArtifactExchange } from './artifact-exchange.ts'
import type { BodyUser } from './body-user.ts'
import { ProcessPlace, type ProcessPlaceParts } from './process-place.ts'
import { type ProcessDoor, ProcessPool, type ProcessSeeker } from './process-pool.ts'
import { WorkerHub } from './worker-hub.ts'

export interface ProcessPlacesParts {
  /** Processes that run bodies at the same time. */
  readonly most: number
  readonly silent_ms: number
  readonly most_idle: number
  /** Clock for the times of lines and points. */
  readonly now_us: () => number
  readonly idle_ms: number
  readonly heartbeat_ms: number
  /** Memory of one process. */
  readonly memory_mb: number
  readonly bodies: string
  readonly artifacts: ArtifactPlace
  /** The environment that the engine was started with. */
  readonly operator: Readonly<Record<string, string | undefined>>
  /** The table of masks. */
  readonly masks: SharedArrayBuffer
  /** The user who runs them; null for the user of the engine. */
  readonly body_user: BodyUser | null
  readonly exchange: ArtifactExchange | null
  /** Storing an artifact of a process failed. */
  failed(error: unknown): void
  /** A secret that a body of the node requests; null when it does not exist. */
  secret(node: string, name: string): string | null
  /** Variables that a call sets on top of `operator`. */
  environment(node: PlanNode, grant: CallGrant | null): Record<string, string>
}

/** The worker processes that the engine starts, as places of calls. */
export class ProcessPlaces implements CallPlaces {
  readonly hub: WorkerHub
  readonly #pool: ProcessPool
  readonly #place: ProcessPlaceParts
  readonly #environment: ProcessPlacesParts['environment']
  /** Calls that wait for a process. */
  readonly #seekers = new Map<BodyCall, ProcessSeeker>()
  #closing = false

  constructor(parts: ProcessPlacesParts) {
    const now_ms = (): number => performance.now()
    const { most, most_idle, idle_ms, operator, body_user } = parts
    const pool = new ProcessPool({ most, most_idle, idle_ms, operator, body_user, now_ms })
    this.#pool = pool
    this.#environment = parts.environment
    const { folder, max_bytes, volatile: memory } = parts.artifacts
    const volatile = memory === undefined ? null : volatileStore(memory)
    const largest =
      volatile === null ? {} : { volatile_bytes: Math.min(volatile.largest, limits.VOLATILE_PROCESS_BYTES) }
    const handed = parts.exchange === null ? {} : { exchange: parts.exchange.folder }
    this.hub = new WorkerHub({
      welcome: {
        heartbeat_s: parts.heartbeat_ms / 1000,
        memory_mb: parts.memory_mb,
        place: { bodies: parts.bodies, artifacts: folder, max_artifact_bytes: max_bytes, ...largest, ...handed },
      },
      silent_ms: parts.silent_ms,
      now_ms,
      welcomed: worker => pool.welcomed(worker),
    })
    this.#place = {
      now_us: parts.now_us,
      release: process => pool.release(process),
      retire: process => pool.retire(process),
      isClosing: () => this.#closing,
      volatile,
      exchange: parts.exchange,
      failed: error => parts.failed(error),
      secret: parts.secret,
      masks: new Masks(parts.masks),
    }
  }

  /** The engine listens: processes can connect to it. */
  open(door: ProcessDoor): void {
    this.#pool.open(door)
  }

  take(call: BodyCall): void {
    const { flow, node, grant } = call.request
    const seeker: ProcessSeeker = {
      granted: process => {
        this.#seekers.delete(call)
        if (!call.begin(new ProcessPlace(this.#place, process, call))) this.#pool.release(process)
      },
      refused: loss => {
        this.#seekers.delete(call)
        call.gone(loss)
      },
    }
    this.#seekers.set(call, seeker)
    this.#pool.acquire(flow, this.#environment(node, grant), seeker)
  }

  drop(call: BodyCall): void {
    const seeker = this.#seekers.get(call)
    this.#seekers.delete(call)
    if (seeker !== undefined) this.#pool.leave(seeker)
  }

  /** Later calls load their modules again. Calls that run finish where they are. */
  refresh(): void {
    this.#pool.refresh()
  }

  /** Called a few times a second. */
  watch(): void {
    const now_ms = performance.now()
    this.hub.watch(now_ms)
    this.#pool.watch(now_ms)
  }

  /** Called before the front ends, which ends every connection. */
  prepareClose(): void {
    this.#closing = true
  }

  async close(): Promise<void> {
    this.#closing = true
    await this.#pool.close()
  }
}
