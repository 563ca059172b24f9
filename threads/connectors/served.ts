import { flowsOf } from '../../core/cascade/publish/together.ts'
import { ServiceError } from '../../protocol/errors.ts'
import { newEncoded } from '../../protocol/values/codec.ts'
import type { ArtifactReference } from '../../protocol/values/dtype.ts'
import type { EncodedValue } from '../../protocol/values/encoded.ts'
import type { ArtifactPlace } from '../calls/artifact-files.ts'
import { readArtifact, storeArtifact } from '../calls/body-artifacts.ts'
import type { ConnectorArtifacts, ConnectorHost, Lease, OpenConnector, Published, Shareable } from './connector.ts'
import type { ConnectorsMemory, Together } from './memory.ts'
import type { ConnectorPlan } from './messages.ts'
import { Rated } from './rated.ts'
import type { Reach } from './reach.ts'
import { runnerOf } from './runners.ts'
import type { Sharing } from './sharing.ts'
import { keepVolatile } from './volatile.ts'

export interface ServedParts {
  readonly memory: ConnectorsMemory
  readonly sharing: Sharing
  readonly reach: Reach
  readonly place: ArtifactPlace
  readonly timezone: string
  isStopping(): boolean
  onDefect(error: unknown): void
}

/**
 * One node that the thread serves, from its plan to its end: what its runner may ask for, and what it has reported.
 *
 *   opening --its runner is loaded--> open --close--> closed
 */
export class ServedNode implements ConnectorHost {
  plan: ConnectorPlan
  readonly #parts: ServedParts
  readonly #flow: string
  readonly #leases = new Set<Lease<Shareable>>()
  readonly #values: EncodedValue[]
  /** What `publish` was given, by place of the port. */
  readonly #placed: unknown[]
  /** Places of the ports that were published last, and where that went: most publish the same ones each time. */
  readonly #given: number[] = []
  #together: Together | null = null
  #rated: (Rated | null)[] = []
  readonly #open: Promise<OpenConnector>
  #opened: OpenConnector | null = null
  #down: string | null = null
  #closed = false
  /** It holds nothing any more. What it drops on the way there is counted. */
  #over = false
  /** Calls that it has not answered. */
  calls = 0
  /** False: opened for calls of batch runs alone; it publishes nothing. */
  readonly live: boolean
  readonly reach: Reach
  readonly artifacts: ConnectorArtifacts
  readonly timezone: string

  /** `free`: resolves when what the node had held before has been let go. */
  constructor(plan: ConnectorPlan, live: boolean, free: Promise<void>, parts: ServedParts) {
    this.plan = plan
    this.live = live
    this.#parts = parts
    this.reach = parts.reach
    this.timezone = parts.timezone
    this.artifacts = {
      store: (content, media_type) => storeArtifact(parts.place, plan.qualified, content, media_type, {}),
      read: reference => readArtifact(parts.place, plan.qualified, reference),
    }
    this.#flow = plan.qualified.slice(0, plan.qualified.indexOf('.'))
    this.#values = plan.outputs.map(() => newEncoded())
    this.#placed = plan.outputs.map(() => undefined)
    this.#rated = this.#ratedPorts()
    this.#open = this.#begin(free)
    this.#open.catch(error => {
      if (this.#closed) return
      if (plan.refusal) return this.down(plan.refusal.message)
      parts.onDefect(error)
      this.down(`its type ${plan.type} could not be loaded: ${String(error)}`)
    })
  }

  async #begin(free: Promise<void>): Promise<OpenConnector> {
    const { refusal = null } = this.plan
    if (refusal !== null) throw new ServiceError(refusal.code, refusal.message)
    const runner = await runnerOf(this.plan.type)
    await free
    const { qualified, settings, inputs, outputs, outbox = null } = this.plan
    if (this.#closed) throw new ServiceError('interrupted', `${qualified} is closed.`)
    const opened = runner.open({ qualified, settings: settings as never, inputs, outputs, outbox }, this)
    this.#opened = opened
    return opened
  }

  /** A plan of the same change key: its values may go elsewhere from now on. */
  routed(plan: ConnectorPlan): void {
    this.plan = plan
    this.#given.length = 0
    this.#together = null
    this.#endRated()
    this.#rated = this.#ratedPorts()
  }

  async call(inputs: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<Record<string, unknown>> {
    const opened = await this.#open
    if (opened.call === undefined) throw new RangeError(`nodes of type ${this.plan.type} take no calls`)
    const outputs = await opened.call({ inputs, signal })
    const declared: Record<string, unknown> = {}
    for (const { name } of this.plan.outputs) if (outputs[name] !== undefined) declared[name] = outputs[name]
    return declared
  }

  /** Resolves when the node holds nothing any more. */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.#endRated()
    try {
      await this.#opened?.close()
    } finally {
      this.#over = true
      for (const lease of this.#leases) lease.release()
      this.#report('ok', '')
    }
  }

  publish(outputs: Readonly<Record<string, unknown>>): Published {
    const { outputs: ports } = this.plan
    for (let at = 0; at < ports.length; at++) this.#placed[at] = outputs[ports[at]!.name]
    return this.publishPlaced(this.#placed)
  }

  publishPlaced(values: readonly unknown[]): Published {
    if (this.#closed || !this.live) return 'published'
    const { memory } = this.#parts
    const { outputs: ports } = this.plan
    let count = 0
    for (let at = 0; at < ports.length; at++) {
      const { name, dtype, route } = ports[at]!
      const value = values[at]
      if (value === undefined || route === null) continue
      const refusal = memory.codec.encode(value, dtype, this.#values[count]!)
      if (refusal !== null) {
        this.failed(refusal.code, `Output "${name}" of ${this.plan.qualified}: ${refusal.text}.`)
        return 'refused'
      }
      const rated = this.#rated[at] ?? null
      if (rated !== null && !rated.passes) {
        if (rated.hold(this.#values[count]!)) memory.counters.replaced(this.plan.node)
        continue
      }
      if (this.#given[count] !== at) {
        this.#given[count] = at
        this.#together = null
      }
      count++
    }
    if (count === 0) return 'published'
    if (memory.publish(this.#routesOf(count), this.#values) < 0) return 'full'
    if (this.#rated.length > 0) for (let place = 0; place < count; place++) this.#rated[this.#given[place]!]?.began()
    memory.counters.ran(this.plan.node)
    return 'published'
  }

  /** Of the ports with `rate_hz`, by place; empty: there are none. */
  #ratedPorts(): (Rated | null)[] {
    const { outputs } = this.plan
    if (outputs.every(({ rate_hz }) => rate_hz === null)) return []
    return outputs.map(({ rate_hz, route }) => {
      if (rate_hz === null || route === null) return null
      const together = { routes: [route], flows: flowsOf([route]) }
      return new Rated(rate_hz, value => this.#parts.memory.publish(together, [value]) >= 0)
    })
  }

  #endRated(): void {
    for (const rated of this.#rated) rated?.close()
  }

  /** Of the first `count` of `#given`. */
  #routesOf(count: number): Together {
    if (this.#together?.routes.length === count) return this.#together
    const routes = this.#given.slice(0, count).map(at => this.plan.outputs[at]!.route!)
    return (this.#together = { routes, flows: flowsOf(routes) })
  }

  batch<Result>(publishes: () => Result): Result {
    return this.#parts.memory.batch(publishes)
  }

  volatile(bytes: Uint8Array, media_type: string, meta?: Readonly<Record<string, unknown>>): ArtifactReference | null {
    return keepVolatile(this.#parts.memory.volatile, bytes, media_type, meta)
  }

  whenRoom(): Promise<void> {
    const downstream = new Set(this.plan.outputs.flatMap(({ route }) => route?.downstream ?? []))
    return this.#closed ? Promise.resolve() : this.#parts.memory.room.wait([...downstream])
  }

  dropped(reason: string, count: number): void {
    const { counters, notes } = this.#parts.memory
    if (this.#over) return
    counters.dropped(this.plan.node, count)
    notes.dropped(this.#flow, reason, count)
  }

  failed(code: Parameters<ConnectorHost['failed']>[0], message: string, inputs: unknown = null): void {
    if (this.#closed) return
    const { counters, notes, clock } = this.#parts.memory
    const { node, qualified } = this.plan
    counters.error(node, clock.now_us() / 1000)
    notes.error(qualified, { code, message, stack: null }, inputs, null, clock.now_us(), counters.good(node))
    this.#parts.memory.mark()
  }

  ok(): void {
    if (!this.#closed) this.#report('ok', '')
  }

  down(reason: string): void {
    if (!this.#closed) this.#report('down', reason)
  }

  /** Only what changes is told: a source may report after each value. */
  #report(status: 'ok' | 'down', text: string): void {
    const down = status === 'down' ? text : null
    if (down === this.#down || !this.live) return
    this.#down = down
    this.#note({ type: 'report', node: this.plan.qualified, status, text, ts: this.nowUs() })
  }

  log(level: 'info' | 'warn' | 'error', text: string): void {
    this.#note({ type: 'log', node: this.plan.qualified, level, text, ts: this.nowUs() })
  }

  gauge(name: string, value: number): void {
    this.#note({ type: 'gauge', node: this.plan.qualified, name, value, step: null, ts: this.nowUs() })
  }

  #note(note: Parameters<ConnectorsMemory['notes']['write']>[0]): void {
    this.#parts.memory.notes.write(note)
    this.#parts.memory.mark()
  }

  share<Thing extends Shareable>(key: string, open: () => Thing): Lease<Thing> {
    if (this.#closed) throw new ServiceError('interrupted', `${this.plan.qualified} is closed.`)
    const lease = this.#parts.sharing.share(key, open)
    const own = {
      thing: lease.thing,
      release: () => {
        this.#leases.delete(own)
        lease.release()
      },
    }
    this.#leases.add(own)
    return own
  }

  get stopping(): boolean {
    return this.#parts.isStopping()
  }

  get folder(): string {
    return this.#parts.memory.folder
  }

  steadyMs(): number {
    return this.#parts.memory.clock.steady_us() / 1000
  }

  nowUs(): number {
    return this.#parts.memory.clock.now_us()
  }

  random(): number {
    return Math.random()
  }
}
