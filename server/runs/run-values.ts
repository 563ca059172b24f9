import { asRead } from '../../core/cascade/plan-run.ts'
import type { Masks } from '../../core/masks/table.ts'
import { type Fingerprint, itemDigest, type Sha256, type StageFingerprint } from '../../core/runs/fingerprint.ts'
import type { Steps } from '../../core/steps.ts'
import type { EncodedValue } from '../../protocol/values/encoded.ts'
import { digestSteps, type LongValues } from './long-values.ts'
import type { NodeRecord, PortOutput } from './node-record.ts'
import type { RunPlan } from './run-plan.ts'
import { artifactsIn, artifactsNamed } from './stage-cache.ts'

export interface RunValuesParts {
  readonly run_plan: RunPlan
  readonly records: readonly NodeRecord[]
  readonly codec: LongValues
  scratch(at: number): EncodedValue
  readonly sha256: Sha256
  readonly masks: Masks
  /** A value of the node names this artifact. */
  named(record: NodeRecord, digest: string): void
}

/** The values of a run by message: its inputs and the outputs of its nodes. They are not in the live message table. */
export class RunValues {
  /** Whether a node has executed and given more than one item of a message. */
  many = false
  /** Bytes of the last values of all messages, encoded. */
  bytes = 0

  /** The same for the values that the run was given. */
  given_bytes = 0

  readonly #parts: RunValuesParts
  /** By position in the plan's messages; null when no node of the flow makes the message. */
  readonly #outputs: readonly (PortOutput | null)[]
  readonly #sizes: Float64Array
  /** Digests of the values from outside, by position in the plan's messages. */
  readonly #given = new Map<number, string>()
  readonly #read = new Map<number, unknown>()
  readonly #artifacts = new Set<string>()
  #fresh_artifacts: string[] = []

  constructor(parts: RunValuesParts) {
    this.#parts = parts
    const { plan } = parts.run_plan
    const outputs: (PortOutput | null)[] = new Array(plan.messages.length).fill(null)
    for (const { node, outputs: given } of parts.records)
      for (let at = 0; at < given.length; at++) outputs[node.outputs[at]!.message] = given[at]!
    this.#outputs = outputs
    this.#sizes = new Float64Array(plan.messages.length)
  }

  /** Takes a value from outside and answers it as readers get it. In steps: 1 MiB takes 10 ms to encode and 10 ms to digest. */
  *give(position: number, value: unknown): Steps<unknown> {
    const { run_plan, codec, sha256, masks, records } = this.#parts
    const message = run_plan.plan.messages[position]!
    const encoded = this.#parts.scratch(0)
    const refusal = codec.encode(value, message.dtype, encoded)
    if (refusal !== null) throw new RangeError(`an input that was checked does not fit: ${refusal.text}`)
    // All runs share the scratch, so it is read before the next step.
    const read = asRead(encoded, value)
    this.given_bytes += encoded.length
    yield
    const digest = yield* digestSteps(value, sha256)
    yield
    this.#given.set(position, digest)
    const output = this.#outputs[position]
    // A value in place of a source node is an input of the run, not a result.
    if (output && run_plan.gives[message.producer]) {
      const record = records[message.producer]!
      const masked = yield* masks.deepSteps(value)
      output.add(masked, digest)
      if (masked !== value) record.is_masked = true
      record.emissions = 1
    }
    for (const found of artifactsNamed(value)) this.artifact(found)
    this.#read.set(message.index, read)
    return read
  }

  /** Takes a value that a node has emitted. Returns how many items the message has had. */
  publish(position: number, encoded: EncodedValue): number {
    const { codec, run_plan, sha256, masks, records } = this.#parts
    const long = codec.take(encoded)
    const value =
      long === null ? codec.decode(encoded.kind, encoded.number, encoded.bytes, 0, encoded.length) : long.decoded
    const output = this.#outputs[position]!
    this.bytes += encoded.length - this.#sizes[position]!
    this.#sizes[position] = encoded.length
    const record = records[run_plan.plan.messages[position]!.producer]!
    const restored = record.status === 'cached'
    const masked = long === null ? masks.deep(value) : long.masked
    if (restored) output.value = masked
    else output.add(masked, long?.digest ?? itemDigest(value, sha256))
    if (masked !== value) record.is_masked = true
    const { count } = output
    if (count > record.emissions) record.emissions = count
    if (count > 1 && !restored) this.many = true
    for (const digest of artifactsIn(value)) this.#parts.named(record, digest)
    return count
  }

  /** A value from outside as readers get it, by the engine-wide index of the message. */
  read(message: number): unknown {
    return this.#read.get(message)
  }

  /** The last value of every message that it produced, without secrets. */
  result(): Record<string, unknown> {
    const result: Record<string, unknown> = {}
    for (const output of this.#outputs) if (output !== null && output.count > 0) result[output.message] = output.value
    return result
  }

  /** The fingerprint of the node's inputs so far. `digests` comes first for the messages that it has. */
  fingerprint(
    record: NodeRecord,
    stage: StageFingerprint,
    code: string,
    digests: ReadonlyMap<number, string> | null,
    secrets: readonly (readonly [name: string, version: string])[],
  ): Fingerprint {
    const values: Record<string, string> = {}
    for (const { port, message } of record.node.inputs)
      values[port] = digests?.get(message) ?? this.#given.get(message) ?? this.#outputs[message]?.digest ?? ''
    return stage.key(code, values, secrets)
  }

  /** Keeps an artifact that a body has stored or a value names for the run. */
  artifact(digest: string): void {
    if (this.#artifacts.has(digest)) return
    this.#artifacts.add(digest)
    this.#fresh_artifacts.push(digest)
  }

  /** The artifacts since the last call. */
  takeArtifacts(): string[] {
    const fresh = this.#fresh_artifacts
    this.#fresh_artifacts = []
    return fresh
  }
}
