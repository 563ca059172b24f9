import type { Codec } from '../../protocol/values/codec.ts'
import { agrees } from '../../protocol/values/dtypes.ts'
import { type EncodedValue, isNumeric, KIND } from '../../protocol/values/encoded.ts'
import { components } from '../flow/order.ts'
import type { Plan, PlanInputPort, PlanNode } from '../flow/plan.ts'
import type { Route } from './publish/route.ts'
import { sharedReaders } from './publish/together.ts'
import type { Seat } from './seat.ts'
import type { BackEdgeCount, Wave } from './wave.ts'

const PRUNE_BYTES = 8 * 2 ** 20
const NO_LOOPS: BackEdgeCount = { waves: 0 }

/** A value that is not a primitive: kept encoded, and decoded for each reader, so that no body can change the input of another. */
export class Packed {
  readonly kind: number
  readonly bytes: Buffer

  constructor(kind: number, bytes: Buffer) {
    this.kind = kind
    this.bytes = bytes
  }
}

/** What a body published, as this flow's readers get it: primitives and what is packed already as they are, everything else encoded. */
export function asRead(encoded: EncodedValue, value: unknown): unknown {
  if (isNumeric(encoded.kind) || encoded.kind === KIND.str || encoded.kind === KIND.null) return value
  if (value instanceof Packed) return value
  return new Packed(encoded.kind, Buffer.from(encoded.bytes.subarray(0, encoded.length)))
}

/** Approximate bytes on the heap. */
export function bytesOf(value: unknown): number {
  if (value instanceof Packed) return value.bytes.length
  return typeof value === 'string' ? value.length : 8
}

/** The same for a value from a queue. */
export function asTaken(encoded: EncodedValue, codec: Codec): unknown {
  if (encoded.kind === KIND.float || encoded.kind === KIND.int) return encoded.number
  if (encoded.kind === KIND.json)
    return new Packed(encoded.kind, Buffer.from(encoded.bytes.subarray(0, encoded.length)))
  return codec.decode(encoded.kind, encoded.number, encoded.bytes, 0, encoded.length)
}

/** What the values of a plan need from the thread that runs it. */
export interface Values {
  /** The newest published value of an engine-wide message index, as a primitive or Packed; undefined when there is none. */
  newest(message: number): unknown
  /**
   * By position in `plan.messages`: the values as of the last processed item, without those still in the queue. Messages that
   * the plan does not follow may be left out.
   */
  standing(plan: Plan): unknown[]
  unpack(packed: Packed): unknown
}

interface Older {
  value: unknown
  version: number
  ms: number
  wave: number
  as_of: number
}

type MakeInputs = (run: PlanRun, wave: Wave) => Record<string, unknown> | undefined

/**
 * A plan with the values of its messages, as the cascades of this flow see them: not the message table, which may already
 * hold what a later, still queued publish brought. Belongs to the lane that owns the flow.
 */
export class PlanRun {
  readonly plan: Plan
  readonly seats: readonly Seat[]
  readonly routes: readonly Route[]
  /** By position in `plan.messages`; undefined while a message has no value. */
  readonly value: unknown[]
  /** The wave that published it, and the clock of the flow as of that wave. */
  readonly value_wave: Float64Array
  readonly value_as_of: Float64Array
  /** The version that it gave the message; 0 before this plan saw one. */
  readonly value_version: Float64Array
  /** When it was published, by the thread's monotonic clock. */
  readonly value_ms: Float64Array
  /** By node: the one message that wakes it; -1: none, or several do. */
  readonly wakes: Int32Array
  readonly makeInputs: readonly MakeInputs[]
  readonly readOutputs: readonly ReadOutputs[]
  /**
   * By node: the flows of its outputs and their readers, ascending, when another flow reads more than one of its outputs;
   * null: its outputs are published one by one.
   */
  readonly together: readonly (readonly number[] | null)[]
  /** By node: ports whose message, another flow's, has a dtype that does not agree with theirs; null: none. */
  readonly mismatches: readonly (readonly PlanInputPort[] | null)[]
  /** The plan that replaced this one; publishes of the last cascades of this plan are visible there too. */
  successor: PlanRun | null = null

  /** By node: those with the same number lie in a common loop. Null: the plan has no loops. */
  readonly #loops: Int32Array | null
  readonly #values: Values
  /** Foreign messages that nothing here triggers on: read from the message table at every execution. */
  readonly #direct: readonly boolean[]
  /** The wave that published the present value; another wave by now when its id is not `value_wave`. */
  readonly #owner: (Wave | undefined)[]
  readonly #older: (Older[] | null)[]
  #older_kept = 0
  #older_bytes = 0
  /** Numbers of kept entries, and of their bytes, from which a scan for unreadable ones pays off. */
  #prune_at = 1024
  #prune_at_bytes = PRUNE_BYTES

  constructor(plan: Plan, seats: readonly Seat[], values: Values) {
    this.plan = plan
    this.seats = seats
    this.#values = values
    const compiled = compiledOf(plan)
    this.routes = compiled.routes
    this.#direct = compiled.direct
    this.#loops = compiled.loops
    this.wakes = compiled.wakes
    this.makeInputs = compiled.makeInputs
    this.readOutputs = compiled.readOutputs
    this.together = compiled.together
    this.mismatches = compiled.mismatches
    this.value = values.standing(plan)
    this.value_wave = new Float64Array(plan.messages.length)
    this.value_as_of = new Float64Array(plan.messages.length)
    this.value_version = new Float64Array(plan.messages.length)
    this.value_ms = new Float64Array(plan.messages.length)
    this.#owner = new Array(plan.messages.length).fill(undefined)
    this.#older = plan.messages.map(() => null)
  }

  /** Another thread has run the flow since; nothing of it is open here. */
  reload(): void {
    const values = this.#values.standing(this.plan)
    for (let position = 0; position < values.length; position++) this.value[position] = values[position]
    this.value_version.fill(0)
    this.value_wave.fill(0)
    this.value_as_of.fill(0)
    this.#owner.fill(undefined)
  }

  /** For a root emission and everything that it causes; never changed in a plan without loops. */
  newBackEdgeCount(): BackEdgeCount {
    return this.#loops !== null ? { waves: 0 } : NO_LOOPS
  }

  /** Can each of the two nodes be reached from the other? */
  isLoop(one: number, other: number): boolean {
    return this.#loops !== null && this.#loops[one] === this.#loops[other]
  }

  /** The value of a message for an execution in `wave`, when the fast test of the generated code did not decide it. */
  read(position: number, wave: Wave): unknown {
    if (this.#direct[position]) return this.#values.newest(this.plan.messages[position]!.index)
    const older = this.#older[position]
    if (older !== null && older !== undefined) {
      for (let at = older.length - 1; at >= 0; at--) if (older[at]!.wave === wave.id) return older[at]!.value
      if (this.value_as_of[position]! > wave.as_of) {
        for (let at = older.length - 1; at >= 0; at--) if (older[at]!.as_of <= wave.as_of) return older[at]!.value
        return undefined
      }
    }
    return this.value[position]
  }

  unpack(packed: Packed): unknown {
    return this.#values.unpack(packed)
  }

  /**
   * `wave` published `value`. The replaced value is kept while a wave may still have to read it: the wave that published
   * it, while that is open, or (`mixed`) an open wave that is older than the newest cascade.
   */
  apply(position: number, value: unknown, version: number, wave: Wave, mixed: boolean): void {
    const owner = this.#owner[position]
    if (mixed || (owner !== undefined && owner !== wave && owner.id === this.value_wave[position])) this.#keep(position)
    this.#owner[position] = wave
    this.value[position] = value
    this.value_version[position] = version
    this.value_ms[position] = wave.at_ms
    this.value_wave[position] = wave.id
    this.value_as_of[position] = wave.as_of
    if (this.successor !== null) this.#passOn(position, value, version, wave)
  }

  #keep(position: number): void {
    const older = (this.#older[position] ??= [])
    const value = this.value[position]
    older.push({
      value,
      version: this.value_version[position]!,
      ms: this.value_ms[position]!,
      wave: this.value_wave[position]!,
      as_of: this.value_as_of[position]!,
    })
    this.#older_kept++
    this.#older_bytes += bytesOf(value)
  }

  /** The version of the message that `wave` published; 0: it did not. */
  versionIn(position: number, wave: Wave): number {
    if (this.value_wave[position] === wave.id) return this.value_version[position]!
    const older = this.#older[position]
    if (older === null || older === undefined) return 0
    for (let at = older.length - 1; at >= 0; at--) if (older[at]!.wave === wave.id) return older[at]!.version
    return 0
  }

  /** When `wave` published the message; -1: it did not. */
  publishedIn(position: number, wave: Wave): number {
    if (this.value_wave[position] === wave.id) return this.value_ms[position]!
    const older = this.#older[position]
    if (older === null || older === undefined) return -1
    for (let at = older.length - 1; at >= 0; at--)
      if (older[at]!.wave === wave.id) return older[at]!.version === 0 ? -1 : older[at]!.ms
    return -1
  }

  /**
   * When the value was published that woke the node, the newest of several. `wires` gets the times of all of them, -1 for those that
   * did not, where several messages wake it.
   */
  wokenAt(position: number, wave: Wave, execution: { wires: number[] | null }): number {
    const wake = this.wakes[position]!
    const published_ms = wake >= 0 ? this.publishedIn(wake, wave) : this.#newestOf(position, wave, execution)
    return published_ms < 0 ? wave.at_ms : published_ms
  }

  #newestOf(position: number, wave: Wave, execution: { wires: number[] | null }): number {
    const { inputs } = this.plan.nodes[position]!
    const wires = (execution.wires ??= new Array<number>(inputs.length).fill(-1))
    let newest = -1
    for (let at = 0; at < inputs.length; at++) {
      const { trigger, message } = inputs[at]!
      const published_ms = trigger ? this.publishedIn(message, wave) : -1
      wires[at] = published_ms
      if (published_ms > newest) newest = published_ms
    }
    return newest
  }

  /** Lets `wave`, and no other wave, read a value that is not the present one; with its version, 0 when the wave did not publish it. */
  lend(position: number, value: unknown, version: number, ms: number, wave: Wave): void {
    const older = (this.#older[position] ??= [])
    older.push({ value, version, ms, wave: wave.id, as_of: Number.POSITIVE_INFINITY })
    this.#older_kept++
  }

  /**
   * Values visible to the waves of `before` stay visible to those that are carried over. For messages that the old plan did not
   * follow, this plan has just read the table. The same holds for a message whose dtype changed, which has no value, and for
   * one that was given its default.
   */
  takeOver(before: PlanRun): void {
    for (const [position, message] of this.plan.messages.entries()) {
      const old = before.plan.by_message.get(message.index)
      if (old === undefined) continue
      const { queued, dtype } = before.plan.messages[old]!
      if (dtype !== message.dtype || this.#direct[position]) continue
      // Its readers there have read the newest value: never go back to an older one.
      if (before.#direct[old]) this.value[position] = this.#values.newest(message.index)
      if (!queued || before.#direct[old]) continue
      if (before.value[old] === undefined && this.plan.seeded.includes(message.index)) continue
      this.value[position] = before.value[old]
      this.value_version[position] = before.value_version[old]!
      this.value_ms[position] = before.value_ms[old]!
      this.value_wave[position] = before.value_wave[old]!
      this.value_as_of[position] = before.value_as_of[old]!
      this.#owner[position] = before.#owner[old]
      const older = before.#older[old]
      if (older === null || older === undefined) continue
      this.#older[position] = [...older]
      this.#older_kept += older.length
    }
  }

  /** Passes the value to the next plan that knows the message, which passes it on. */
  #passOn(position: number, value: unknown, version: number, wave: Wave): void {
    const { index } = this.plan.messages[position]!
    for (let next = this.successor; next !== null; next = next.successor) {
      const there = next.plan.by_message.get(index)
      if (there !== undefined) return next.apply(there, value, version, wave, true)
    }
  }

  /** No wave is open that could still read a replaced value. */
  forgetOlder(): void {
    if (this.#older_kept === 0) return
    this.#older.fill(null)
    this.#older_kept = this.#older_bytes = 0
  }

  get wantsPruning(): boolean {
    return this.#older_kept > this.#prune_at || this.#older_bytes > this.#prune_at_bytes
  }

  /**
   * Drops what no open wave can read. `as_of`: the moments of the open waves, ascending; of the replaced values, each wave
   * reads the last one that was published at or before its moment, and its own.
   */
  prune(as_of: readonly number[], open: ReadonlySet<number>): void {
    this.#older_kept = this.#older_bytes = 0
    for (const [position, older] of this.#older.entries()) {
      if (older === null) continue
      const kept: Older[] = []
      // Moments that have found their value are those at or after the earliest one found so far.
      let unserved = as_of.length
      for (let at = older.length - 1; at >= 0; at--) {
        const entry = older[at]!
        const serves = unserved > 0 && as_of[unserved - 1]! >= entry.as_of
        if (serves || open.has(entry.wave)) {
          kept.push(entry)
          this.#older_bytes += bytesOf(entry.value)
        }
        while (unserved > 0 && as_of[unserved - 1]! >= entry.as_of) unserved--
      }
      this.#older[position] = kept.length > 0 ? kept.reverse() : null
      this.#older_kept += kept.length
    }
    this.#prune_at = Math.max(1024, this.#older_kept * 2)
    this.#prune_at_bytes = Math.max(PRUNE_BYTES, this.#older_bytes * 2)
  }
}

interface Compiled {
  readonly routes: readonly Route[]
  readonly direct: readonly boolean[]
  readonly loops: Int32Array | null
  readonly wakes: Int32Array
  readonly makeInputs: readonly MakeInputs[]
  readonly readOutputs: readonly ReadOutputs[]
  readonly together: readonly (readonly number[] | null)[]
  readonly mismatches: readonly (readonly PlanInputPort[] | null)[]
}

/** The parts that all runs of a plan share: a batch run is short, and generating its functions would take most of its time. */
const compiled_plans = new WeakMap<Plan, Compiled>()

function compiledOf(plan: Plan): Compiled {
  const known = compiled_plans.get(plan)
  if (known !== undefined) return known
  const direct = plan.messages.map(message => !message.own && message.readers.length === 0)
  const routes = plan.messages.map(message => ({
    message: message.index,
    flow: plan.flow_index,
    queued: message.queued,
    foreign: message.foreign,
    downstream: message.downstream,
  }))
  const compiled: Compiled = {
    routes,
    direct,
    loops: loopsOf(plan),
    wakes: Int32Array.from(plan.nodes, ({ inputs }) => {
      const messages = new Set(inputs.filter(({ trigger }) => trigger).map(({ message }) => message))
      return messages.size === 1 ? [...messages][0]! : -1
    }),
    makeInputs: plan.nodes.map(node => compileInputs(node, direct)),
    readOutputs: plan.nodes.map(compileOutputs),
    together: plan.nodes.map(node => sharedReaders(node.outputs.map(output => routes[output.message]!))),
    mismatches: plan.nodes.map(node => {
      const ports = node.inputs.filter(input => !agrees(plan.messages[input.message]!.dtype, input.dtype))
      return ports.length > 0 ? ports : null
    }),
  }
  compiled_plans.set(plan, compiled)
  return compiled
}

function loopsOf({ nodes }: Plan): Int32Array | null {
  if (!nodes.some(node => node.outputs.some(output => output.back.length > 0))) return null
  const readers = nodes.map(node => node.outputs.flatMap(({ forward, back }) => [...forward, ...back]))
  return components(nodes.length, readers)
}

/**
 * Generates the function that builds a body's inputs object: one literal, so that every call makes the same shape. Port
 * names come from the checked grammar and are quoted; nothing else of the document enters the source.
 */
function compileInputs(node: PlanNode, direct: readonly boolean[]): MakeInputs {
  const lines: string[] = []
  const fields: string[] = []
  for (const [at, input] of node.inputs.entries()) {
    const m = input.message
    const fast = direct[m]
      ? `run.read(${m}, wave)`
      : `run.value_wave[${m}] === wave.id ? run.value[${m}] : run.read(${m}, wave)`
    lines.push(`let v${at} = ${fast}; if (v${at} === undefined) return undefined;`)
    lines.push(`if (typeof v${at} === 'object' && v${at} !== null) v${at} = run.unpack(v${at});`)
    fields.push(`${JSON.stringify(input.port)}: v${at}`)
  }
  return new Function('run', 'wave', `${lines.join('\n')}\nreturn { ${fields.join(', ')} };`) as MakeInputs
}

/**
 * Reads what a body returned into `out`, by output position (undefined: absent), and answers null or the first key that no
 * port declares. Constant property reads and one count of the keys: cheaper than looking each key up.
 */
export type ReadOutputs = (result: Record<string, unknown>, out: OutputValues) => string | null

export interface OutputValues {
  readonly value: unknown[]
  /** Keys of the result, declared or not. */
  keys: number
}

export function compileOutputs(node: { readonly outputs: readonly { readonly port: string }[] }): ReadOutputs {
  const reads = node.outputs.map(
    (output, at) =>
      `const v${at} = result[${JSON.stringify(output.port)}]; value[${at}] = v${at}; if (v${at} !== undefined) found++;`,
  )
  const declared = JSON.stringify(node.outputs.map(output => output.port))
  return new Function(
    'result',
    'out',
    `const value = out.value; let found = 0, keys = 0;
     ${reads.join('\n')}
     for (const key in result) keys++;
     out.keys = keys;
     if (keys === found) return null;
     const declared = ${declared};
     for (const key in result) if (!declared.includes(key)) return key;
     return null;`,
  ) as ReadOutputs
}
