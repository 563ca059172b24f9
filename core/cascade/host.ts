import type { Codec } from '../../protocol/values/codec.ts'
import type { EncodedValue } from '../../protocol/values/encoded.ts'
import type { PlanNode, PlanOutputPort } from '../flow/plan.ts'
import type { Flow } from './flow.ts'
import type { Mailbox } from './mailbox.ts'
import type { PlanRun, Values } from './plan-run.ts'
import type { Emission } from './publish/emission.ts'
import type { Bounds } from './queue/bounds.ts'
import type { TakenItem } from './queue/item.ts'
import type { Execution, Failure, Seat } from './seat.ts'
import type { BrokenLoop, Cascade } from './wave.ts'

/** Answered by `Host.call` in place of a result when the body threw; the host keeps what was thrown. */
export const THREW = Symbol('threw')

/** What a flow needs from the thread that it runs on. Implementations: the lane, a batch run, the double of the tests. */
export interface Host extends Values {
  readonly bounds: Bounds
  readonly codec: Codec
  /** Reused by every flow of the thread, one for each output of an emission. */
  scratch(at: number): EncodedValue
  /** Milliseconds of the thread's monotonic clock; `origin_us` added it is the time of day. */
  clock(): number
  readonly origin_us: number
  nextSeq(): number
  /** The one door into user code, for a body that runs here. */
  call(seat: Seat, inputs: Record<string, unknown>): unknown
  thrown(): Failure
  failureOf(error: unknown): Failure
  newSeat(node: PlanNode, mailbox: Mailbox): Seat
  /** True when the thread had the body already: the seat is ready. */
  loadAtOnce(flow: Flow, seat: Seat): boolean
  /** Makes the body of a seat ready and answers through `FlowRun.bodyReady`. */
  load(flow: Flow, seat: Seat): void
  /** True when the body is not to run on this thread. */
  dispatched(seat: Seat): boolean
  dispatch(flow: Flow, execution: Execution): void
  /** A body has ended; its times are in the execution. */
  executed(execution: Execution): void
  waitedForInput(seat: Seat): void
  failed(flow: Flow, seat: Seat, failure: Failure, inputs: unknown, cascade: Cascade): void
  /** Publishes inside a cascade; answers the version. */
  publish(run: PlanRun, message: number, value: EncodedValue, ts_us: number, depth: number, cascade: Cascade): number
  /**
   * The same for an emission of which other flows read several messages: they get them together. Fills in the versions.
   * `flows`: whose publish words it takes, see `PlanRun.together`.
   */
  publishEmission(
    run: PlanRun,
    emission: Emission,
    flows: readonly number[],
    ts_us: number,
    depth: number,
    cascade: Cascade,
  ): void
  /** Of a gated port: true when it may publish now; else the value is held, or scheduled. */
  passes(run: PlanRun, output: PlanOutputPort, value: EncodedValue, ts_us: number, execution: Execution): boolean
  /** Once for each cascade; for one that stays open, again and again. */
  cycle(flow: Flow, broken: BrokenLoop): void
  /** The only one of the thread that has begun, not ended, and is not in flight. */
  begun(flow: Flow, cascade: Cascade): void
  ended(flow: Flow, cascade: Cascade, ms: number): void
  /** May another cascade of the flow begin, under the engine's bound on those in flight? */
  mayBegin(flow: Flow): boolean
  inFlight(flow: Flow, cascade: Cascade, change: 1 | -1): void
  /** An item or a waiting execution whose ports a deploy took away. */
  planChanged(flow: Flow, seat: Seat | null, cascade: Cascade): void
  /** Something arrived outside a turn: the lane gives the flow a turn soon. */
  wants(flow: Flow): void
}

/** Where a turn takes items from: the flow's queue, or nothing. */
export interface Ingress {
  take(flow: number, out: TakenItem): boolean
  /** After an item that says `goes_on`: the next one, if it belongs to the same group. */
  takeJoined(flow: number, out: TakenItem): boolean
}
