import type { Plan, PlanNode } from '../flow/plan.ts'
import type { Route } from './publish.ts'
import type { Seat } from './seat.ts'
import type { BackEdgeCount, Wave } from './wave.ts'

const NO_LOOPS: BackEdgeCount = { waves: 0 }

/** A value that is no primitive: kept encoded, and decoded afresh for each reader, so that no body can change another's input. */
export class Packed {
  readonly kind: number
  readonly bytes: Buffer

  constructor(kind: number, bytes: Buffer) {
    this.kind = kind
    this.bytes = bytes
  }
}

/** What a plan's values ask of the thread that runs it. */
export interface Values {
  /** The newest published value of an engine-wide message index, as a primitive or Packed; undefined when there is none. */
  newest(message: number): unknown
  unpack(packed: Packed): unknown
}

interface Older {
  value: unknown
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
  readonly makeInputs: readonly MakeInputs[]
  readonly readOutputs: readonly ReadOutputs[]
  /** The plan that replaced this one; what this one's last cascades publish is seen there too. */
  successor: PlanRun | null = null

  readonly #loops: boolean
  readonly #values: Values
  /** Foreign messages that nothing here triggers on: read from the message table at every execution. */
  readonly #direct: boolean[]
  /** The wave that published the present value; another wave by now when its id is not `value_wave`. */
  readonly #owner: (Wave | undefined)[]
  readonly #older: (Older[] | null)[]
  #older_kept = 0
  /** Kept entries at which it is worth looking for what nobody can read any more. */
  #prune_at = 1024

  constructor(plan: Plan, seats: readonly Seat[], values: Values) {
    this.plan = plan
    this.seats = seats
    this.#values = values
    this.routes = plan.messages.map(message => ({
      message: message.index,
      flow: plan.flow_index,
      queued: message.queued,
      foreign: message.foreign,
      downstream: message.downstream,
    }))
    this.#direct = plan.messages.map(message => !message.own && message.readers.length === 0)
    this.value = plan.messages.map((message, position) =>
      this.#direct[position] ? undefined : values.newest(message.index),
    )
    this.value_wave = new Float64Array(plan.messages.length)
    this.value_as_of = new Float64Array(plan.messages.length)
    this.#owner = new Array(plan.messages.length).fill(undefined)
    this.#older = plan.messages.map(() => null)
    this.#loops = plan.nodes.some(node => node.outputs.some(output => output.back.length > 0))
    this.makeInputs = plan.nodes.map(node => compileInputs(node, this.#direct))
    this.readOutputs = plan.nodes.map(compileOutputs)
  }

  /** For a root emission and all that follows from it; never changed in a plan without loops. */
  newBackEdgeCount(): BackEdgeCount {
    return this.#loops ? { waves: 0 } : NO_LOOPS
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
   * `wave` published `value`. What it replaces is kept while somebody may still have to read it: the wave that published
   * it, while that is open, or (`mixed`) an open wave that is older than the newest cascade.
   */
  apply(position: number, value: unknown, wave: Wave, mixed: boolean): void {
    const owner = this.#owner[position]
    if (mixed || (owner !== undefined && owner !== wave && owner.id === this.value_wave[position])) {
      const older = (this.#older[position] ??= [])
      older.push({ value: this.value[position], wave: this.value_wave[position]!, as_of: this.value_as_of[position]! })
      this.#older_kept++
    }
    this.#owner[position] = wave
    this.value[position] = value
    this.value_wave[position] = wave.id
    this.value_as_of[position] = wave.as_of
    if (this.successor !== null) this.#passOn(position, value, wave)
  }

  /** Gives `wave` a value to read that is not the present one. */
  lend(position: number, value: unknown, wave: Wave): void {
    const older = (this.#older[position] ??= [])
    older.push({ value, wave: wave.id, as_of: wave.as_of })
    this.#older_kept++
  }

  #passOn(position: number, value: unknown, wave: Wave): void {
    const next = this.successor!
    const there = next.plan.by_message.get(this.plan.messages[position]!.index)
    if (there !== undefined) next.apply(there, value, wave, true)
  }

  /** No wave is open that could still read a replaced value. */
  forgetOlder(): void {
    if (this.#older_kept === 0) return
    this.#older.fill(null)
    this.#older_kept = 0
  }

  get wantsPruning(): boolean {
    return this.#older_kept > this.#prune_at
  }

  /** Drops what no open wave can read: all but the newest entry at or before `as_of`, unless an open wave published it. */
  prune(as_of: number, open: ReadonlySet<number>): void {
    this.#older_kept = 0
    for (const [position, older] of this.#older.entries()) {
      if (older === null) continue
      let keep_from = 0
      for (let at = older.length - 1; at > 0; at--) {
        if (older[at]!.as_of <= as_of) {
          keep_from = at
          break
        }
      }
      const kept = older.filter((entry, at) => at >= keep_from || open.has(entry.wave))
      this.#older[position] = kept.length > 0 ? kept : null
      this.#older_kept += kept.length
    }
    this.#prune_at = Math.max(1024, this.#older_kept * 2)
  }
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

export function compileOutputs(node: PlanNode): ReadOutputs {
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
