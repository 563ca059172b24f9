import type { FlowRun } from '../../core/cascade/flow-run.ts'
import type { Execution, Seat } from '../../core/cascade/seat.ts'
import { ServiceError } from '../../protocol/errors.ts'
import type { Note } from '../lane/messages.ts'
import type { SpeaksFor } from '../lane/seat.ts'
import type { ArtifactPlace } from './artifact-files.ts'
import type { ContextHost } from './node-context.ts'

const DONE = Promise.resolve()

/** The functions of a lane that the contexts of its bodies use. */
export interface LaneForContext {
  note(note: Note): void
  now_us(): number
  /** The value of a secret for the node; null: there is none. */
  secret(name: string, node: string): Promise<string | null>
  /** Resolves when what the execution emitted last has run, as far as it runs inline, and its node may emit again. */
  emitted(flow: FlowRun, execution: Execution): Promise<void>
}

/** Stands behind the `ctx` of one execution at a time. A body that went away keeps its own; the next execution gets another. */
export class InlineContextHost implements ContextHost, SpeaksFor {
  readonly #lane: LaneForContext
  readonly flow: FlowRun
  readonly artifacts: ArtifactPlace
  readonly #seat: Seat
  execution: Execution | null = null

  constructor(lane: LaneForContext, flow: FlowRun, seat: Seat, artifacts: ArtifactPlace) {
    this.#lane = lane
    this.flow = flow
    this.artifacts = artifacts
    this.#seat = seat
  }

  /**
   * Published at once; its wave runs when the body has returned or awaits. Within a synchronous call the promise is
   * already resolved: only a body that awaits can be held back.
   */
  emit(outputs: unknown): Promise<void> {
    const execution = this.execution
    if (execution === null) return DONE
    const overflow = this.flow.overflow(execution)
    if (overflow !== null) throw new ServiceError('emit_overflow', `${this.#seat.node.qualified} ${overflow}.`)
    const failure = this.flow.emit(execution, outputs)
    if (failure !== null) throw new ServiceError(failure.code, failure.message)
    return this.#lane.emitted(this.flow, execution)
  }

  signal(): AbortSignal {
    const execution = this.execution ?? this.#seat.execution
    execution.abort ??= new AbortController()
    return execution.abort.signal as AbortSignal
  }

  dropped(reason: string, count: number): void {
    this.note({ type: 'dropped', flow: this.flow.name, reason, count, ts: this.now_us() })
  }

  note(note: Note): void {
    this.#lane.note(note)
  }

  metric(name: string, value: number, step: number | null): void {
    this.note({ type: 'gauge', node: this.#seat.node.qualified, name, value, step, ts: this.now_us() })
  }

  /** Nobody keeps a list of what live bodies store: a message that names it holds it. */
  artifact(): void {}

  secret(name: string): Promise<string | null> {
    return this.#lane.secret(name, this.#seat.node.qualified)
  }

  now_us(): number {
    return this.#lane.now_us()
  }
}
