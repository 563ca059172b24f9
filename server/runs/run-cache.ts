import type { Mailbox } from '../../core/cascade/mailbox.ts'
import type { Execution } from '../../core/cascade/seat.ts'
import type { Fingerprint } from '../../core/runs/fingerprint.ts'
import type { CacheOrigin } from '../store/front/runs.ts'
import { isLong } from './long-values.ts'
import type { NodeRecord } from './node-record.ts'
import type { RunPlan } from './run-plan.ts'
import type { RunValues } from './run-values.ts'
import type { StageCache } from './stage-cache.ts'

export interface RunCacheParts {
  /** Id of the run. */
  readonly id: string
  readonly run_plan: RunPlan
  readonly records: readonly NodeRecord[]
  readonly values: RunValues
  readonly cache: StageCache
  readonly code_digest: string | null
  secretsOf(position: number): [name: string, version: string][]
  onDefect(error: unknown): void
  isRunning(): boolean
  /** Executions that have begun and not ended, without this one. */
  open(): number
  mailboxOf(record: NodeRecord): Mailbox
  /** Gives the execution this result. */
  restore(record: NodeRecord, execution: Execution, origin: CacheOrigin): void
  /** Computes the execution, since no run has its result. */
  compute(record: NodeRecord, execution: Execution): void
  /** Ends the record, because the run has begun to end meanwhile. */
  endHere(record: NodeRecord): void
  /** An execution began to wait for another run. */
  follows(): void
  /** Calls `goOn` when the run holds a place, or ends. */
  whenPlaced(goOn: () => void): void
}

/** The stage cache from the side of one run: which of its nodes are hits, and which keys it computes for others. */
export class RunCache {
  readonly #parts: RunCacheParts
  /** Keys that this run computes. */
  readonly #led = new Set<string>()
  /** Records that wait until another run has computed the same key. */
  readonly #followers = new Set<NodeRecord>()
  /** The last record for which `hit` found nothing to give at once, and what it found instead. */
  #missed: NodeRecord | null = null
  #found: ReturnType<StageCache['find']> = null

  constructor(parts: RunCacheParts) {
    this.#parts = parts
  }

  /** Before the first execution of a node: the origin in memory, if its outputs can be given at once. */
  hit(record: NodeRecord): CacheOrigin | null {
    this.#missed = null
    if (!this.#isComplete(record)) return null
    record.fingerprint = this.#fingerprint(record)
    if (record.fingerprint === null) return null
    const found = this.#parts.cache.find(record.fingerprint.key)
    // An origin with long values is restored in steps, like an execution.
    const isAtOnce = found !== null && !(found instanceof Promise) && found.emissions <= 1
    if (isAtOnce && !found.outputs.some(({ value }) => isLong(value))) return found
    this.#missed = record
    this.#found = found
    return null
  }

  /** Executions that wait for other runs. */
  get following(): number {
    return this.#followers.size
  }

  /** Right after `hit` has answered null: computes the execution, waits for another run that does, or restores it. */
  lead(record: NodeRecord, execution: Execution): void {
    if (this.#missed === record) this.#take(record, execution, record.fingerprint!.key, this.#found)
    else this.#parts.compute(record, execution)
  }

  /** Called when all that the node has read is known. */
  settling(record: NodeRecord): void {
    if (record.error === null) record.fingerprint ??= this.#fingerprint(record)
  }

  settled(record: NodeRecord): void {
    const key = record.fingerprint?.key
    if (key === undefined) return
    const { id, run_plan, cache } = this.#parts
    if (this.#mayNotServe(record)) record.fingerprint = null
    else if (record.status === 'succeeded') {
      const { flow } = run_plan.plan
      cache.add({
        key,
        run: id,
        flow,
        node: record.node.id,
        emissions: record.emissions,
        outputs: record.storedOutputs(),
      })
    }
    if (this.#led.delete(key)) cache.settle(key)
  }

  /** Whether the outputs must not be reused: they hold secrets, which records mask, or the node got secrets or versions that its key does not have. */
  #mayNotServe({ fingerprint, node, is_masked }: NodeRecord): boolean {
    const { secretsOf, run_plan } = this.#parts
    if (is_masked) return true
    const stage = run_plan.fingerprints[node.position]
    return stage?.secrets(secretsOf(node.position)) !== fingerprint!.parts['secrets']
  }

  /** Takes all records that wait for other runs. */
  takeFollowers(): NodeRecord[] {
    const followers = [...this.#followers]
    this.#followers.clear()
    return followers
  }

  /** The run is over: runs that wait for its keys search again. */
  close(): void {
    for (const key of this.#led) this.#parts.cache.settle(key)
    this.#led.clear()
  }

  /** Waits, without resources or a place, while another execution computes the same key. */
  #find(record: NodeRecord, execution: Execution, key: string): void {
    this.#take(record, execution, key, this.#parts.cache.find(key))
  }

  #take(record: NodeRecord, execution: Execution, key: string, found: ReturnType<StageCache['find']>): void {
    if (!(found instanceof Promise)) return this.#decide(record, execution, key, found)
    found.then(
      origin => this.#decide(record, execution, key, origin),
      // The store reports its failure; a key that cannot be looked up is computed.
      () => this.#decide(record, execution, key, null),
    )
  }

  #decide(record: NodeRecord, execution: Execution, key: string, origin: CacheOrigin | null): void {
    const { cache } = this.#parts
    if (!this.#parts.isRunning()) return this.#parts.endHere(record)
    if (origin !== null && origin.emissions <= 1) return this.#parts.restore(record, execution, origin)
    if (origin !== null) return this.#restoreMany(record, execution, origin)
    const led = cache.lead(key)
    if (led === null) {
      this.#led.add(key)
      return this.#parts.compute(record, execution)
    }
    this.#followers.add(record)
    led
      .then(() => {
        if (this.#followers.delete(record)) this.#parts.whenPlaced(() => this.#find(record, execution, key))
      })
      .catch(this.#parts.onDefect)
    this.#parts.follows()
  }

  /** Several emissions are not replayed. The node is a hit only if all of its readers are, down to those with at most one emission. */
  #restoreMany(record: NodeRecord, execution: Execution, origin: CacheOrigin): void {
    this.#coverBelow(record, origin)
      .then(covered => {
        if (!this.#parts.isRunning()) return this.#parts.endHere(record)
        if (covered === null) return this.#parts.compute(record, execution)
        for (const [below, found] of covered) below.covered = found
        this.#parts.restore(record, execution, origin)
      })
      .catch(this.#parts.onDefect)
  }

  async #coverBelow(first: NodeRecord, origin: CacheOrigin): Promise<Map<NodeRecord, CacheOrigin> | null> {
    const { records } = this.#parts
    const covered = new Map([[first, origin]])
    const digests = new Map<number, string>()
    const readers = new Set<NodeRecord>()
    const cover = (record: NodeRecord, { outputs, emissions }: CacheOrigin): void => {
      for (const { port, message } of record.node.outputs) {
        digests.set(message, outputs.find(output => output.port === port)?.digest ?? '')
        if (emissions <= 1) continue
        for (const reader of records)
          if (reader.node.inputs.some(input => input.message === message)) readers.add(reader)
      }
    }
    cover(first, origin)
    // In wave order, so that a node comes after the nodes that it reads from.
    for (const record of records) {
      if (!readers.has(record) || covered.has(record)) continue
      if (record.executions > 0) return null
      const known = record.node.inputs.every(({ message }) => digests.has(message) || this.#isKnown(message))
      const fingerprint = known ? this.#fingerprint(record, digests) : null
      const found = fingerprint === null ? null : await this.#parts.cache.find(fingerprint.key)
      if (found === null) return null
      record.fingerprint = fingerprint
      covered.set(record, found)
      cover(record, found)
    }
    return readers.size === [...readers].filter(reader => covered.has(reader)).length ? covered : null
  }

  /** Whether no more items of the message will come. */
  #isKnown(message: number): boolean {
    const { run_plan, records } = this.#parts
    const { producer } = run_plan.plan.messages[message]!
    return producer < 0 || records[producer]!.hasEnded
  }

  /** Whether all inputs of the node are final: each node above it has ended with at most one item, or was a hit. */
  #isComplete({ node }: NodeRecord): boolean {
    const { upstream, position } = node
    if (this.#parts.run_plan.in_loop[position]) return false
    if (this.#parts.open() === 0 && !this.#parts.values.many) return true
    for (let word = 0; word < upstream.length; word++) {
      for (let left = upstream[word]!; left !== 0; left &= left - 1) {
        const above = this.#parts.records[word * 32 + 31 - Math.clz32(left & -left)]!
        if (above.open > 0 || (above.emissions > 1 && above.status !== 'cached')) return false
        const { waiting, reserved } = this.#parts.mailboxOf(above)
        if (waiting.size > 0 || reserved !== null) return false
      }
    }
    return true
  }

  #fingerprint(record: NodeRecord, digests: ReadonlyMap<number, string> | null = null): Fingerprint | null {
    const { run_plan, values, code_digest, secretsOf } = this.#parts
    const stage = run_plan.fingerprints[record.node.position] ?? null
    return stage === null
      ? null
      : values.fingerprint(record, stage, code_digest ?? '', digests, secretsOf(record.node.position))
  }
}
