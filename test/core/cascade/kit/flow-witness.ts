import type { Execution } from '../../../../core/cascade/seat.ts'
import type { Cascade } from '../../../../core/cascade/wave.ts'

/** A value that was published; every one differs from all others. */
interface Published {
  readonly value: unknown
  /** Cascades that had begun when its wave did. */
  readonly as_of: number
  readonly cascade: number
  /** Place among those that came the same way: from outside, or from the message's node. */
  readonly place: number
  readonly way: 'outside' | 'node'
}

interface Started {
  readonly wave: number
  readonly as_of: number
  readonly cascade: number
}

/**
 * Watches a flow whose bodies go away, come back and emit in any order, and says what must not be: what the rules say of each single
 * execution and of each single value is worked out from all that was published before, the slow way.
 */
export class FlowWitness {
  /** What must not be. */
  readonly problems: string[] = []
  /** Values of one message are to be read in their order. */
  in_order = true
  /** What was read, by node, in order. */
  readonly reads = new Map<string, Record<string, unknown>[]>()

  readonly #published = new Map<string, Published[]>()
  readonly #places = new Map<string, number>()
  /** What waits in the queue, and what has begun, in order. */
  readonly #items: { message: string; value: unknown }[] = []
  readonly #started = new Map<string, Started>()
  /** What is known to be published in a wave, by message. */
  readonly #own = new Map<number, Map<string, unknown>>()
  readonly #roots = new Map<number, number>()
  readonly #ran = new Set<string>()
  readonly #inside = new Map<string, Execution>()
  readonly #generators = new WeakSet<Execution>()
  /** The newest value that woke a node, by node and message. */
  readonly #last = new Map<string, number>()
  readonly #executions = new Map<number, number>()
  #begun = 0
  /** Cascades that had begun at the last deploy: parts of them may have moved to waves of the new plan. */
  #deployed_at = 0

  constructor(values: Record<string, unknown>) {
    for (const [message, value] of Object.entries(values)) this.#publish(message, value, 0, 0, 'outside')
  }

  /** Everything published to the message by its node, or from outside. */
  published(message: string, way: Published['way']): unknown[] {
    const all = this.#published.get(message) ?? []
    return all.filter(one => one.way === way && one.cascade > 0).map(({ value }) => value)
  }

  queued(message: string, value: unknown): void {
    this.#items.push({ message, value })
  }

  deployed(): void {
    this.#deployed_at = this.#begun
  }

  begins(count: number): void {
    this.#begun = count
    const { message, value } = this.#items[count - 1]!
    this.#publish(message, value, count, count, 'outside')
  }

  /** `name`: the node and which of its executions it is. */
  starts(execution: Execution, name: string): void {
    const { seat, wave, cascade, inputs, run } = execution
    const { id } = seat.node
    const cascade_number = cascade.seq
    this.#once(`${id} in wave ${wave.id}`)
    if (!this.reads.has(id)) this.reads.set(id, [])
    this.reads.get(id)!.push(inputs)
    this.#started.set(name, { wave: wave.id, as_of: wave.as_of, cascade: cascade_number })
    this.#executions.set(cascade_number, (this.#executions.get(cascade_number) ?? 0) + 1)
    const moved = cascade_number <= this.#deployed_at
    // The first body of a cascade that starts does so in the wave of its root.
    if (!this.#roots.has(cascade_number) && !moved) {
      const { message, value } = this.#items[cascade_number - 1]!
      this.#roots.set(cascade_number, wave.id)
      this.#ownOf(wave.id).set(message, value)
    }
    const nameOf = (message: number): string => {
      const { name: qualified, own } = run.plan.messages[message]!
      return own ? qualified.slice(2) : qualified
    }
    const ports = run.plan.nodes[execution.position]!.inputs
    for (const { port, message } of ports) {
      const { own, readers } = run.plan.messages[message]!
      if (own || readers.length > 0) this.#reads(name, execution, nameOf(message), inputs[port], moved)
    }
    // What began another wave than the root's is not known here.
    if (this.#roots.get(cascade_number) !== wave.id) return
    const triggers = new Set(ports.filter(({ trigger }) => trigger).map(({ message }) => nameOf(message)))
    const first = [...this.#ownOf(wave.id)].find(([message]) => triggers.has(message))
    if (first !== undefined) this.#isWoken(name, id, ...first)
  }

  /** The body is entered; call what comes back when it is left. */
  enters(execution: Execution): () => void {
    const { id } = execution.seat.node
    const other = this.#inside.get(id)
    // A generator that was told to end has no say in when the engine takes it for ended.
    if (other !== undefined && !(other.ended && this.#generators.has(other)))
      this.problems.push(`${id} is entered while another execution of it is inside`)
    this.#inside.set(id, execution)
    return () => {
      if (this.#inside.get(id) === execution) this.#inside.delete(id)
    }
  }

  isGenerator(execution: Execution): void {
    this.#generators.add(execution)
  }

  /** `name` and `emission`: which execution emitted it, and as its how manieth emission. */
  publishes(message: string, value: unknown, name: string, emission: number): void {
    const started = this.#started.get(name)!
    const as_of = emission === 0 ? started.as_of : this.#begun
    this.#publish(message, value, as_of, started.cascade, 'node')
    if (emission === 0) this.#ownOf(started.wave).set(message, value)
  }

  ends(cascade: Cascade): void {
    const expected = this.#executions.get(cascade.seq) ?? 0
    if (cascade.executions !== expected)
      this.problems.push(`cascade ${cascade.seq} counts ${cascade.executions} executions, not ${expected}`)
  }

  #reads(name: string, { wave, cascade }: Execution, message: string, value: unknown, moved: boolean): void {
    const all = this.#published.get(message) ?? []
    const got = all.find(one => one.value === value)
    const problem = (text: string) =>
      this.problems.push(`${name} in wave ${wave.id} as of ${wave.as_of} reads ${message}=${value}: ${text}`)
    if (got === undefined) return void problem('nobody published it')
    if (got.as_of > wave.as_of) problem(`it is of later, ${got.as_of}`)
    const own = this.#own.get(wave.id)?.get(message)
    if (own !== undefined) {
      if (own !== value) problem(`its own wave published ${own}`)
      return
    }
    if (moved) return
    const newest = all.findLast(one => one.as_of <= wave.as_of)!
    if (newest === got) return
    // A wave that nothing is known of may have been begun by a value of its own cascade.
    const may_be_own = this.#roots.get(cascade.seq) !== wave.id && got.cascade === cascade.seq
    if (!may_be_own) problem(`the newest is ${newest.value}`)
  }

  /** Waves come to a node in the order in which they woke it: those that the same message woke, in the order of its values. */
  #isWoken(name: string, id: string, message: string, value: unknown): void {
    const { way, place } = this.#published.get(message)!.find(one => one.value === value)!
    const line = `${id} ${message} ${way}`
    if (this.in_order && (this.#last.get(line) ?? -1) > place)
      this.problems.push(`${name} was woken by ${message}=${value}, and its node has run for a later one before`)
    this.#last.set(line, place)
  }

  #once(what: string): void {
    if (this.#ran.has(what)) this.problems.push(`${what} runs twice`)
    this.#ran.add(what)
  }

  #ownOf(wave: number): Map<string, unknown> {
    const own = this.#own.get(wave) ?? new Map<string, unknown>()
    this.#own.set(wave, own)
    return own
  }

  #publish(message: string, value: unknown, as_of: number, cascade: number, way: Published['way']): void {
    const line = `${message} ${way}`
    const place = this.#places.get(line) ?? 0
    this.#places.set(line, place + 1)
    const all = this.#published.get(message) ?? []
    all.push({ value, as_of, cascade, place, way })
    this.#published.set(message, all)
  }
}
