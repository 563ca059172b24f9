import { limits } from '../../../protocol/limits.ts'
import type { WelcomeFrame } from '../../../protocol/worker/frames.ts'
import { WORKER_PATH } from '../../../protocol/worker/wire.ts'
import type { Admissions } from '../../auth/gatekeeper.ts'
import type { Caller, WorkerPrincipal } from '../../auth/principal.ts'
import type { BinarySocketHandlers, Socket } from '../../http/socket.ts'
import { AttachedWorker } from './attached-worker.ts'

export interface WorkerHubParts {
  readonly welcome: Omit<WelcomeFrame, 't' | 'protocol'>
  /** A worker without a heartbeat for this long is disconnected. */
  readonly silent_ms: number
  now_ms(): number
  welcomed(worker: AttachedWorker): void
}

const TRY_LATER = 1013

/** The workers that are attached. This release gives calls only to workers that the engine started; others attach and stay idle. */
export class WorkerHub {
  readonly #parts: WorkerHubParts
  readonly #workers = new Map<Socket, AttachedWorker>()

  constructor(parts: WorkerHubParts) {
    this.#parts = parts
  }

  open(socket: Socket): void {
    if (this.#workers.size >= limits.WORKERS) return socket.end(TRY_LATER, `${limits.WORKERS} workers are attached`)
    const { welcome, now_ms, welcomed } = this.#parts
    // Only a worker that the engine started runs on this machine and gets its paths.
    const place = socket.caller.kind === 'worker' ? welcome.place : null
    this.#workers.set(socket, new AttachedWorker({ socket, welcome: { ...welcome, place }, now_ms, welcomed }))
  }

  message(socket: Socket, bytes: Uint8Array): void {
    this.#workers.get(socket)?.receive(bytes)
  }

  close(socket: Socket): void {
    const worker = this.#workers.get(socket)
    this.#workers.delete(socket)
    worker?.closed()
  }

  /** Called a few times a second. */
  watch(now_ms: number): void {
    for (const worker of this.#workers.values()) worker.watch(now_ms, this.#parts.silent_ms)
  }
}

/** `/workers/attach`: open to worker tokens and to superusers. */
export class WorkersSocket implements BinarySocketHandlers {
  readonly path = WORKER_PATH
  readonly who = 'worker'
  readonly frames = 'binary'
  readonly frame_bytes = limits.WORKER_FRAME_BYTES
  readonly admissions: Admissions<Caller | WorkerPrincipal>
  readonly #hub: WorkerHub

  constructor(hub: WorkerHub, admissions: Admissions<Caller | WorkerPrincipal>) {
    this.#hub = hub
    this.admissions = admissions
  }

  open(socket: Socket): void {
    this.#hub.open(socket)
  }

  message(socket: Socket, bytes: Uint8Array): void {
    this.#hub.message(socket, bytes)
  }

  drain(): void {}

  close(socket: Socket): void {
    this.#hub.close(socket)
  }
}
