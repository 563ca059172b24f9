import type { Plan, PlanNode } from '../../core/flow/plan.ts'
import { type Fingerprint, SequenceDigest, type Sha256 } from '../../core/runs/fingerprint.ts'
import { isFinalNode, moveNode } from '../../core/runs/status.ts'
import type { ResourceAmounts, RunError, RunNodeStatus } from '../../protocol/run.ts'
import type { CacheOrigin, StoredOutput, StoredRunNode } from '../store/runs/records.ts'

/** What an output port gave so far: the last value, and all of them by digest. */
export class PortOutput {
  readonly port: string
  readonly message: string
  value: unknown = undefined
  readonly #sequence: SequenceDigest
  /** Of a node that was found in the cache: what it gave when it ran. */
  #restored: { count: number; digest: string } | null = null

  constructor(port: string, message: string, sha256: Sha256) {
    this.port = port
    this.message = message
    this.#sequence = new SequenceDigest(sha256)
  }

  get count(): number {
    return (this.#restored ?? this.#sequence).count
  }

  get digest(): string {
    return (this.#restored ?? this.#sequence).digest
  }

  add(value: unknown, digest: string): void {
    this.value = value
    this.#sequence.addDigest(digest)
  }

  restore({ value, count, digest }: StoredOutput): void {
    this.value = value
    this.#restored = { count, digest }
  }
}

/** One node of a run that is going on, as `RunNode` tells it. Changed in place; written whole when it has moved on. */
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
  fingerprint: Fingerprint | null = null
  cached_from: string | null = null
  error: RunError | null = null
  /** It is a hit as soon as it is woken: what it reads came from nodes whose many emissions are not replayed. */
  covered: CacheOrigin | null = null
  /** `ctx.state`: begins empty and ends with the run. */
  state: Record<string, unknown> = {}
  /** Steps of metrics that were given none, by name. */
  readonly steps = new Map<string, number>()
  /** Executions begun and not ended. */
  open = 0
  /** Moved on since it was last written. */
  changed = true

  constructor(plan: Plan, node: PlanNode, expected_s: number | null, sha256: Sha256) {
    this.node = node
    this.expected_s = expected_s
    const prefix = plan.flow.length + 1
    this.outputs = node.outputs.map(
      output => new PortOutput(output.port, plan.messages[output.message]!.name.slice(prefix), sha256),
    )
  }

  get hasEnded(): boolean {
    return isFinalNode(this.status)
  }

  move(status: RunNodeStatus): void {
    this.status = moveNode(this.status, status)
    this.changed = true
  }

  storedOutputs(): StoredOutput[] {
    return this.outputs
      .filter(({ count }) => count > 0)
      .map(({ port, message, value, count, digest }) => ({ port, message, value, count, digest }))
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
    }
  }
}
