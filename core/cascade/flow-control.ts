import { limits } from '../../protocol/limits.ts'
import { Fifo } from './fifo.ts'
import type { Mailbox } from './mailbox.ts'
import type { Bounds } from './queue/bounds.ts'
import type { Execution } from './seat.ts'
import type { Cascade, Wave } from './wave.ts'

/** The values of `Execution.kind` while it is on a stack. */
const GENERATOR = 1

/** The error of an execution that was released from a ring at the hard bound: it may emit nothing more. */
export const RING =
  'emitted more while what it emitted before waits for it to end, and its flow holds all that it may hold: emit less in one execution'

/** A body may await that its emission has run. */
interface EmitWait {
  readonly wave: Wave
  /** Another wave by now when this is not its id. */
  readonly id: number
  readonly goOn: () => void
}

/** Decides which nodes continue when a flow is full.
 *
 * A full flow has as many executions waiting in its mailboxes as its bound says. Three things put more there than they take
 * out: the pull of a generator, an awaited `ctx.emit` that lets its body go on, and the start of a body that emits several
 * times. In a full flow a node does none of them while something that it emitted waits in a mailbox: it is held. So each node
 * adds at most one emission (or what one synchronous call emits) to what waits in a full flow.
 *
 * Why a full flow always makes progress: an execution in a mailbox waits for the present execution of its node, for an earlier
 * node of its own wave, or for an execution that entered the mailbox before it. Such a chain ends at an execution that is away,
 * or at a held node. A body that is away comes back by itself. A held node waits for its emissions further down the flow; below
 * the last held node no execution waits for a held node, so its emissions run. Held nodes can still form a ring: when waves
 * pass each other, or when a value in a loop waits for the execution that emits it and keeps its place before the next emission
 * of that execution. Then no body is away, and one held node at a time may take one step (`letOneGo`). Each step adds waiting
 * work, so at the hard bound such an execution may end but emits nothing more.
 *
 * A flow can also be full of bytes. A wave keeps its values until it ends. The number of waves stays the same on their way from
 * mailbox to mailbox, but their bytes grow, so one more rule holds then: a node whose body was away starts no execution while a
 * wave waits that has values of it. Nothing waits for room, so a value that is larger than the bound goes through.
 *
 * Values in a loop are not held back by waiting work of the same loop, see `Emissions`: the loop ends at its bound of turns, or
 * at the hard bound of the flow.
 */
export class FlowControl {
  /** Executions in mailboxes. */
  waiting = 0
  /** Of the values of all open waves, which keep them until they end. */
  bytes = 0
  readonly #bounds: Bounds
  /** Generators that are to be pulled again, in turn. */
  readonly #generators = new Fifo<Execution>()
  /** Nodes that are free and held: somebody waits before them. */
  readonly #starts = new Set<Mailbox>()
  readonly #emits = new Map<Execution, Fifo<EmitWait>>()
  #rotation = 0

  constructor(bounds: Bounds) {
    this.#bounds = bounds
  }

  get isFull(): boolean {
    return this.waiting >= this.#bounds.items || this.isFullOfBytes
  }

  get isFullOfBytes(): boolean {
    return this.bytes >= this.#bounds.bytes
  }

  /** The hard bound: the flow takes on no more work of any kind. `own_bytes`: of the wave that asks; a wave alone is never too large. */
  isAtHardBound(more: number, own_bytes = 0): boolean {
    const { items, bytes, hard_factor } = this.#bounds
    return this.waiting + more >= items * hard_factor || this.bytes - own_bytes >= bytes * hard_factor
  }

  entered(mailbox: Mailbox, wave: Wave): void {
    const { emitter, feeders } = wave
    this.waiting++
    if (emitter !== null && emitter.seat.mailbox !== mailbox) emitter.seat.mailbox.unread++
    if (wave.waits++ === 0 && feeders !== null) for (const feeder of feeders) feeder.fed++
  }

  left(mailbox: Mailbox, wave: Wave): void {
    const { emitter, feeders } = wave
    this.waiting--
    if (emitter !== null && emitter.seat.mailbox !== mailbox) emitter.seat.mailbox.unread--
    if (--wave.waits === 0 && feeders !== null) for (const feeder of feeders) feeder.fed--
  }

  /** A body that was away has given the wave its outputs. */
  feeds(mailbox: Mailbox, wave: Wave): void {
    if (wave.feeders === null) wave.feeders = [mailbox]
    else wave.feeders.push(mailbox)
    if (wave.waits > 0) mailbox.fed++
  }

  /** The node starts nothing that emits more; in a flow full of bytes, nothing at all. */
  holds(mailbox: Mailbox): boolean {
    return (mailbox.unread > 0 && this.isFull) || (mailbox.fed > 0 && this.isFullOfBytes)
  }

  /** A generator's first yield adds nothing: its wave waits for it. */
  holdsPull({ seat, contributed }: Execution): boolean {
    return contributed && seat.current && this.holds(seat.mailbox)
  }

  // ---- generators

  defer(generator: Execution): void {
    this.#generators.push(generator)
  }

  /** Generators that the last turn left on the stack alternate with newer ones. */
  deferAll(stack: (Wave | Execution)[]): void {
    let kept = 0
    for (let at = stack.length - 1; at >= 0; at--) {
      const one = stack[at]!
      if (one.kind === GENERATOR) this.#generators.push(one)
    }
    for (const one of stack) if (one.kind !== GENERATOR) stack[kept++] = one
    stack.length = kept
  }

  /** The next one that may be pulled. */
  nextGenerator(): Execution | null {
    for (let left = this.#generators.size; left > 0; left--) {
      const generator = this.#generators.shift()!
      if (generator.ended) continue
      if (!this.holdsPull(generator)) return generator
      this.#generators.push(generator)
    }
    return null
  }

  /** Cascades of generators between two pulls. */
  *pulled(): Iterable<Cascade> {
    for (const { cascade, ended } of this.#generators) if (!ended) yield cascade
  }

  get hasGenerators(): boolean {
    return this.#generators.size > 0
  }

  get mayPull(): boolean {
    for (const generator of this.#generators) if (!generator.ended && !this.holdsPull(generator)) return true
    return false
  }

  // ---- starts

  holdStart(mailbox: Mailbox): void {
    this.#starts.add(mailbox)
  }

  /** The next node that is held no more. */
  nextStart(): Mailbox | null {
    if (this.#starts.size === 0) return null
    for (const mailbox of this.#starts) if (!this.holds(mailbox)) return this.#takeStart(mailbox)
    return null
  }

  get mayStart(): boolean {
    for (const mailbox of this.#starts) if (!this.holds(mailbox)) return true
    return false
  }

  #takeStart(mailbox: Mailbox): Mailbox {
    this.#starts.delete(mailbox)
    return mailbox
  }

  // ---- emits

  /** Too many emissions that nobody awaited: why they are refused, or null. `unrun`: those of the call that runs now. */
  overflow(execution: Execution, unrun: number, inner: number): string | null {
    if (this.endsRing(execution)) return RING
    const open = execution.away ? execution.open : 0
    if (unrun >= limits.UNAWAITED_EMITS || open >= limits.UNAWAITED_EMITS)
      return `emitted more than ${limits.UNAWAITED_EMITS} values without awaiting`
    if (unrun + open > 0 && this.isAtHardBound(inner - this.waiting + unrun))
      return `emitted without awaiting while its flow holds ${inner + unrun} executions that wait and ${this.bytes} bytes, all that it may hold`
    return null
  }

  /** `goOn` is called when the inline part of the last emission has run and the node is not held. */
  await(execution: Execution, goOn: () => void): void {
    const { sent } = execution
    if (sent === null || execution.ended) return goOn()
    let waits = this.#emits.get(execution)
    if (waits === undefined) this.#emits.set(execution, (waits = new Fifo()))
    waits.push({ wave: sent, id: execution.sent_id, goOn })
  }

  /** At the end of each turn, when its values are marked. */
  letEmittersGoOn(): void {
    for (const [execution, waits] of this.#emits) {
      const { ended, seat } = execution
      while (waits.size > 0) {
        const { wave, id, goOn } = waits.at(0)
        if (!ended && ((wave.id === id && wave.queued) || this.holds(seat.mailbox))) break
        waits.shift()
        goOn()
      }
      if (waits.size === 0) this.#emits.delete(execution)
    }
  }

  #holdsEmit({ ended, seat }: Execution): boolean {
    return !ended && this.holds(seat.mailbox)
  }

  // ---- rings

  /** Its next emission would only wait for its own end: it is refused. */
  endsRing(execution: Execution): boolean {
    return execution.let_go && this.isAtHardBound(0)
  }

  /** Executions away that go on only when the engine lets them. */
  get held(): number {
    let held = 0
    for (const generator of this.#generators) if (!generator.ended) held++
    for (const execution of this.#emits.keys()) if (this.#holdsEmit(execution)) held++
    return held
  }

  get holdsAny(): boolean {
    return this.#starts.size > 0 || this.held > 0
  }

  /** All executions away are held, so they hold each other (a ring): one of them goes one step, round robin. */
  letOneGo(pull: (generator: Execution) => void, start: (mailbox: Mailbox) => void): boolean {
    for (let kind = 0; kind < 3; kind++) {
      this.#rotation = (this.#rotation + 1) % 3
      if (this.#letOneOf(this.#rotation, pull, start)) return true
    }
    return false
  }

  #letOneOf(kind: number, pull: (generator: Execution) => void, start: (mailbox: Mailbox) => void): boolean {
    if (kind === 0) {
      for (let generator = this.#generators.shift(); generator !== undefined; generator = this.#generators.shift()) {
        if (generator.ended) continue
        generator.let_go = this.isAtHardBound(0)
        pull(generator)
        return true
      }
    } else if (kind === 1) {
      for (const mailbox of this.#starts) {
        start(this.#takeStart(mailbox))
        return true
      }
    } else {
      for (const [execution, waits] of this.#emits) {
        if (!this.#holdsEmit(execution)) continue
        execution.let_go = this.isAtHardBound(0)
        this.#emits.delete(execution)
        waits.shift()!.goOn()
        if (waits.size > 0) this.#emits.set(execution, waits)
        return true
      }
    }
    return false
  }

  /** The flow has ended here. */
  end(): void {
    this.waiting = 0
    this.bytes = 0
    while (this.#generators.shift() !== undefined);
    this.#starts.clear()
    const waits = [...this.#emits.values()]
    this.#emits.clear()
    for (const one of waits) for (const { goOn } of one) goOn()
  }
}
