import type { Flow } from './flow.ts'
import type { FlowControl } from './flow-control.ts'
import type { Host } from './host.ts'
import { bytesOf, type PlanRun } from './plan-run.ts'
import type { Execution } from './seat.ts'
import { type BackEdgeCount, type Cascade, Wave } from './wave.ts'

/** Waves kept for the next emission. */
const SPARE_WAVES = 64

/** The waves and cascades of one flow that have begun and not ended, and which replaced values they may still have to read. */
export class OpenWaves {
  /** The thread's monotonic clock, as of the last body of the flow that ran. */
  now_ms = 0
  /** Cascades begun: the flow's clock. A wave reads nothing that a later cascade published. */
  clock = 0
  /** Waves are open that began before the newest cascade: what they may read is kept when it is replaced. */
  mixed = false
  /** Cascades that outlived the turn that began them. */
  readonly cascades = new Set<Cascade>()

  readonly #flow: Flow
  readonly #host: Host
  readonly #control: FlowControl
  readonly #parked = new Set<Wave>()
  readonly #spare: Wave[] = []
  #ids = 0
  #open = 0

  constructor(flow: Flow, host: Host, control: FlowControl) {
    this.#flow = flow
    this.#host = host
    this.#control = control
  }

  get size(): number {
    return this.#open
  }

  /** A cascade begins: waves that are open now are older than the newest cascade. */
  tick(): void {
    this.clock++
    if (this.#open > 0) this.mixed = true
  }

  /** A root: its place is the newest moment of the flow's clock, unless the caller gives it another. */
  begin(run: PlanRun, cascade: Cascade, depth: number, back: BackEdgeCount): Wave {
    const wave = this.#spare.pop() ?? new Wave()
    wave.id = ++this.#ids
    wave.run = run
    wave.cascade = cascade
    wave.depth = depth
    wave.as_of = this.clock
    wave.back = back
    wave.above = null
    wave.position = 0
    wave.number = this.clock
    wave.turns = 0
    wave.emitter = null
    wave.bytes = 0
    wave.feeders = null
    wave.count = 0
    wave.queued = false
    cascade.open++
    this.#open++
    return wave
  }

  /**
   * A wave of a newer plan for one node that waits, with the inputs that it would have read; null when a port of it is gone.
   * `late`: others have run there since, and it reads the values that they published of earlier cascades.
   */
  carryOver(old: Wave, position: number, to: PlanRun, late: boolean): Wave | null {
    const before = old.run.plan
    const after = to.plan
    const { id, inputs } = before.nodes[position]!
    const node = after.nodes.find(node => node.id === id)
    if (node === undefined) return null
    const reads = new Set(node.inputs.map(input => after.messages[input.message]!.index))
    if (!inputs.every(input => reads.has(before.messages[input.message]!.index))) return null
    const wave = this.begin(to, old.cascade, old.depth, old.back)
    wave.as_of = old.as_of
    wave.at_ms = old.at_ms
    wave.above = old.above
    wave.position = old.position
    wave.number = old.number
    wave.turns = old.turns
    this.emittedBy(old.emitter, wave)
    if (old.feeders !== null) wave.feeders = [...old.feeders]
    for (const { message } of inputs) {
      const there = after.by_message.get(before.messages[message]!.index)!
      const version = old.run.versionIn(message, old)
      const published_ms = old.run.publishedIn(message, old)
      if (version === 0 && late) continue
      const value = old.run.read(message, old)
      to.lend(there, value, version, published_ms, wave)
      if (version !== 0) this.keeps(wave, bytesOf(value))
    }
    wave.activate(node.position)
    return wave
  }

  /** The wave has brought or published values of so many bytes. */
  keeps(wave: Wave, bytes: number): void {
    wave.bytes += bytes
    this.#control.bytes += bytes
  }

  /** Its waiting executions hold its emitter back. */
  emittedBy(emitter: Execution | null, wave: Wave): void {
    wave.emitter = emitter
    if (emitter !== null) emitter.open++
  }

  /** Waits for a body away; it comes back through the arrivals. */
  park(wave: Wave): void {
    wave.parked = true
    this.#parked.add(wave)
    this.keepOpen(wave.cascade)
  }

  unpark(wave: Wave): void {
    if (!wave.parked) return
    wave.parked = false
    this.#parked.delete(wave)
  }

  keepOpen(cascade: Cascade): void {
    if (cascade.in_flight) return
    cascade.in_flight = true
    this.cascades.add(cascade)
    this.#host.inFlight(this.#flow, cascade, 1)
  }

  close(wave: Wave): void {
    wave.cascade.open--
    this.#control.bytes -= wave.bytes
    if (wave.emitter !== null) {
      wave.emitter.open--
      wave.emitter = null
    }
    wave.id = 0
    wave.queued = false
    this.unpark(wave)
    const { run } = this.#flow
    if (--this.#open === 0) {
      wave.run.forgetOlder()
      if (wave.run !== run) run.forgetOlder()
      this.mixed = false
    } else if (run.wantsPruning) {
      this.#prune(run)
    }
    if (this.#spare.length < SPARE_WAVES) this.#spare.push(wave)
  }

  #prune(run: PlanRun): void {
    const as_of: number[] = []
    const ids = new Set<number>()
    for (const waves of [this.#parked, this.#flow.queuedWaves()]) {
      for (const wave of waves) {
        as_of.push(wave.as_of)
        ids.add(wave.id)
      }
    }
    run.prune(
      as_of.sort((a, b) => a - b),
      ids,
    )
  }

  /** A value of the cascade goes round a loop no more. */
  broken(cascade: Cascade, run: PlanRun, position: number, reason: string): void {
    if (cascade.broken === null) cascade.broken = { run, position, reason, count: 1 }
    else cascade.broken.count++
  }

  tellBroken(cascade: Cascade): void {
    const { broken } = cascade
    cascade.broken = null
    if (broken !== null) this.#host.cycle(this.#flow, broken)
  }

  /** Ends the cascade when no wave or body of it is open. */
  settle(cascade: Cascade, now_ms: number): void {
    if (cascade.open > 0) return
    if (cascade.broken !== null) this.tellBroken(cascade)
    this.forget(cascade)
    this.#host.ended(this.#flow, cascade, now_ms)
  }

  forget(cascade: Cascade): void {
    if (!cascade.in_flight) return
    cascade.in_flight = false
    this.cascades.delete(cascade)
    this.#host.inFlight(this.#flow, cascade, -1)
  }
}
