import type { PlanNode } from '../../core/flow/plan.ts'
import { type Fingerprint, SequenceDigest, type Sha256 } from '../../core/runs/fingerprint.ts'
import { isFinalNode, moveNode } from '../../core/runs/status.ts'
import type { ResourceAmounts, RunError, RunNodeStatus } from '../../protocol/nouns/run.ts'
import type { CacheOrigin, StoredOutput, StoredRunNode } from '../store/front/runs.ts'

/** The values of an output port so far: the last one with its secrets masked, and a digest of all of them. */
export class PortOutput {
  readonly port: string
  readonly message: string
  value: unknown = undefined
  readonly #sha256: Sha256
  #sequence: SequenceDigest | null = null
  /** For a node that was found in the cache: the output of its original execution. */
  #restored: StoredOutput | null = null

  constructor(port: string, message: string, sha256: Sha256) {
    this.port = port
    this.message = message
    this.#sha256 = sha256
  }

  get count(): number {
    return (this.#restored ?? this.#sequence)?.count ?? 0
  }

  get digest(): string {
    return (this.#restored ?? this.#sequence)?.digest ?? ''
  }

  add(value: unknown, digest: string): void {
    this.value = value
    this.#sequence ??= new SequenceDigest(this.#sha256)
    this.#sequence.addDigest(digest)
  }

  restore(origin: StoredOutput): void {
    this.value = origin.value
    this.#restored = origin
  }
}

/** A node of a run that executes, in the form of `RunNode`. Changed in place, and written whole after a change. */
export class NodeRecord {
  readonly node: PlanNode
  readonly outputs: readonly PortOutput[]
  readonly expected_s: number | null
  status: RunNodeStatus = 'pending'
  executions = 0
  /** The most items that one of its outputs carried. */
  emissions = 0
  asked: ResourceAmounts | null = null
  granted: ResourceAmounts | null = null
  machine: string | null = null
  queued_at: number | null = null
  started_at: number | null = null
  finished_at: number | null = null
  body_ms = 0
  /** Points that were over a bound of the run, or were not taken in time. */
  metrics_dropped = 0
  fingerprint: Fingerprint | null = null
  cached_from: string | null = null
  error: RunError | null = null
  /** Its cache origin when nodes before it are hits with several emissions, which are not replayed: then it is a hit, too. */
  covered: CacheOrigin | null = null
  /** `ctx.state`, which begins empty and is dropped at the end of the run. */
  state: Record<string, unknown> = {}
  /** Executions that have begun and not ended. */
  open = 0
  /** A secret was masked in its outputs, so the record differs from what it emitted. */
  is_masked = false
  /** Changed since it was last written. */
  changed = true

  /** `names`: the messages of its outputs. */
  constructor(node: PlanNode, names: readonly string[], expected_s: number | null, sha256: Sha256) {
    this.node = node
    this.expected_s = expected_s
    this.outputs = node.outputs.map((output, at) => new PortOutput(output.port, names[at]!, sha256))
  }

  get hasEnded(): boolean {
    return isFinalNode(this.status)
  }

  move(status: RunNodeStatus): void {
    this.status = moveNode(this.status, status)
    this.changed = true
  }

  storedOutputs(): StoredOutput[] {
    const stored: StoredOutput[] = []
    for (const { port, message, value, count, digest } of this.outputs)
      if (count > 0) stored.push({ port, message, value, count, digest })
    return stored
  }

  stored(attempt: number): StoredRunNode {
    const ended = this.hasEnded
    return {
      node: this.node.id,
      position: this.node.position,
      status: this.status,
      attempt,
      executions: this.executions,
      emissions: this.emissions,
      asked: this.asked,
      granted: this.granted,
      machine: this.machine,
      queued_at: this.queued_at,
      started_at: this.started_at,
      finished_at: this.finished_at,
      body_s: this.started_at === null ? null : this.body_ms / 1000,
      expected_s: this.expected_s,
      cache_key: this.fingerprint?.key ?? null,
      parts: this.fingerprint?.parts ?? null,
      outputs: ended && this.status !== 'skipped' ? this.storedOutputs() : null,
      cached_from: this.cached_from,
      error: this.error,
      metrics_dropped: this.metrics_dropped,
    }
  }
}
