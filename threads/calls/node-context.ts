import { ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import type { ArtifactReference } from '../../protocol/values/dtype.ts'
import { LOG_LEVELS } from '../../protocol/words/log-level.ts'
import type { LogLevel, Note, RunIdentity } from '../lane/messages.ts'
import type { SecretReference } from '../nodes/secrets.ts'
import type { ArtifactPlace } from './artifact-files.ts'
import type { ArtifactContent } from './body-artifacts.ts'

/** The implementation behind a body's `ctx`: the lane for a body that runs inline, else the call slot. */
export interface ContextHost {
  /** Throws a ServiceError when the outputs are refused; the promise resolves when the body may go on. */
  emit(outputs: unknown): Promise<void>
  signal(): AbortSignal
  note(note: Note): void
  /** Something of the body's was left out. */
  dropped(reason: string, count: number): void
  /** A checked point: a gauge in live execution, a point of the run's metrics in a batch run. */
  metric(name: string, value: number, step: number | null): void
  /** Where `artifact` and `read` of a body go. */
  readonly artifacts: ArtifactPlace
  /** The body has stored it. */
  artifact(reference: ArtifactReference): void
  /** Null: there is none. */
  secret(name: string): Promise<string | null>
  now_us(): number
}

/** A node's durable state while its thread holds it. */
export class NodeState {
  object: Record<string, unknown>
  /** A body may have changed it since it was last kept. */
  touched = false
  /** Some body has asked for it since it was loaded. */
  used = false

  constructor(object: Record<string, unknown>) {
    this.object = object
  }
}

export interface NodeIdentity {
  readonly flow: string
  readonly id: string
  readonly qualified: string
  readonly settings: Record<string, unknown>
  readonly run?: RunIdentity | null
}

/** The `ctx` that a body receives beside its inputs. docs/bodies.md describes it for those who write bodies. */
export class NodeContext {
  readonly flow: string
  readonly node: string
  /** The batch run; null in live execution. */
  readonly run: RunIdentity | null
  readonly settings: Record<string, unknown>
  readonly #qualified: string
  readonly #host: ContextHost
  readonly #state: NodeState
  readonly #lines: LineBudget | null

  /** `lines`: null where every line is taken. */
  constructor(
    identity: NodeIdentity,
    host: ContextHost,
    state: NodeState,
    lines: LineBudget | null = new LineBudget(),
  ) {
    this.flow = identity.flow
    this.node = identity.id
    this.settings = identity.settings
    this.run = identity.run ?? null
    this.#qualified = identity.qualified
    this.#host = host
    this.#state = state
    this.#lines = lines
  }

  /** A plain object that the engine keeps: at most 64 KiB encoded, durable, handed on when the body moves between threads. */
  get state(): Record<string, unknown> {
    this.#state.touched = true
    this.#state.used = true
    return this.#state.object
  }

  set state(value: Record<string, unknown>) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new ServiceError(
        'bad_state',
        `ctx.state of ${this.#qualified} was set to a value that is not a plain object.`,
      )
    }
    this.#state.touched = true
    this.#state.object = value
  }

  /** Aborted when the node is changed or removed, when its timeout has passed, or when the engine ends. */
  get signal(): AbortSignal {
    return this.#host.signal()
  }

  /** Publishes one emission; its wave starts by itself. Await it to go no faster than its readers. */
  emit(outputs: Record<string, unknown>): Promise<void> {
    return this.#host.emit(outputs)
  }

  /**
   * In live execution a gauge of the node, seen at `/metrics`; in a batch run a point of the curve `<flow>.<node>.<name>`, at the step
   * after the last one when none is given. A number that is not finite is refused.
   */
  metric(name: string, value: number, step: number | null = null): void {
    if (typeof name !== 'string' || name.length === 0 || name.length > 64) {
      throw new ServiceError('bad_metric', `A metric of ${this.#qualified} needs a name of 1 to 64 characters.`)
    }
    if (!Number.isFinite(value))
      throw new ServiceError('not_finite', `Metric "${name}" of ${this.#qualified} is ${value}.`)
    if (step !== null && !Number.isFinite(step))
      throw new ServiceError('not_finite', `The step of metric "${name}" of ${this.#qualified} is ${step}.`)
    this.#host.metric(name, value, step)
  }

  /**
   * Stores bytes, a text or a stream of them; resolves with the reference once they are on disk. The same bytes are stored once.
   * `volatile`: in memory only, until newer ones push them out. Rejects with `bad_artifact`, `bad_media_type`, `too_large` or `disk_full`.
   */
  async artifact(
    content: ArtifactContent,
    media_type: string,
    options: { meta?: Record<string, unknown>; volatile?: boolean } = {},
  ): Promise<ArtifactReference> {
    // Loaded with the first use: most bodies store nothing, and every thread would wait for it.
    const { storeArtifact } = await import('./body-artifacts.ts')
    const reference = await storeArtifact(this.#host.artifacts, this.#qualified, content, media_type, options)
    // A run holds a volatile one when a value names it, or when it is kept.
    if (options.volatile !== true) this.#host.artifact(reference)
    return reference
  }

  /**
   * Copies a volatile artifact to the disk; resolves with the reference when it is there. One that is there already stays. Rejects with
   * `artifact_not_found`, `artifact_fell_out` or `disk_full`.
   */
  async keep(reference: ArtifactReference): Promise<ArtifactReference> {
    const { keepArtifact } = await import('./body-artifacts.ts')
    const kept = await keepArtifact(this.#host.artifacts, this.#qualified, reference)
    this.#host.artifact(kept)
    return kept
  }

  /** All bytes behind a reference. Rejects with `artifact_not_found`, `artifact_fell_out` or `artifact_damaged`. */
  async read(reference: ArtifactReference): Promise<Buffer> {
    const { readArtifact } = await import('./body-artifacts.ts')
    return readArtifact(this.#host.artifacts, this.#qualified, reference)
  }

  /**
   * The value of a secret as it is now, by its name or by a setting that is `{"secret": name}`. Only the thread that asks gets it. Rejects with
   * `secret_not_found`.
   */
  async secret(name: string | SecretReference): Promise<string> {
    const wanted = typeof name === 'object' && name !== null ? name.secret : name
    const most = limits.SECRET_NAME_CHARACTERS
    if (typeof wanted !== 'string' || wanted === '' || wanted.length > most) {
      throw new ServiceError(
        'secret_not_found',
        `ctx.secret of ${this.#qualified} takes a name of 1 to ${most} characters.`,
      )
    }
    const text = await this.#host.secret(wanted)
    if (text === null) throw new ServiceError('secret_not_found', `${this.#qualified}: there is no secret "${wanted}".`)
    return text
  }

  /**
   * A line of the node. A batch run keeps it in its log. Live it goes to `node_log` events and serve.log, and lines past 100 a second of
   * one node are counted, not kept.
   */
  log(text: unknown, level: LogLevel = 'info'): void {
    const ts = this.#host.now_us()
    const missed = this.#lines === null ? 0 : this.#lines.take(ts)
    if (missed < 0) return this.#host.dropped('log_lines', 1)
    const line = (typeof text === 'string' ? text : JSON.stringify(text)) ?? String(text)
    const known = LOG_LEVELS.includes(level) ? level : 'info'
    this.#host.note({ type: 'log', node: this.#qualified, level: known, text: keptLine(line, missed), ts })
  }

  /** Says that what the node stands for is well or down; shown in the flow's issues until it reports well again. */
  report(status: 'ok' | 'down', text = ''): void {
    if (status !== 'ok' && status !== 'down') {
      throw new ServiceError(
        'bad_report',
        `ctx.report of ${this.#qualified} takes "ok" or "down", not ${JSON.stringify(status)}.`,
      )
    }
    this.#host.note({
      type: 'report',
      node: this.#qualified,
      status,
      text: String(text).slice(0, 1000),
      ts: this.#host.now_us(),
    })
  }
}

const { log } = NodeContext.prototype

/** What a body printed, as if it had called `ctx.log`: that of the engine, also where the body has put its own in its place. */
export const printLine = (context: NodeContext, text: string, level: LogLevel): void => {
  log.call(context, text, level)
}

/** A line as it is kept, after so many that were left out. */
export function keptLine(line: string, missed: number): string {
  const kept = line.length > limits.LOG_LINE_BYTES ? `${line.slice(0, limits.LOG_LINE_BYTES)}…` : line
  return missed === 0 ? kept : `${kept} (${missed} lines of this node were left out before it)`
}

/** So many log lines a second of one node. */
export class LineBudget {
  #second = 0
  #lines = 0
  #missed = 0

  /** Lines left out since the last one that was kept, or -1: this one is left out too. */
  take(ts_us: number): number {
    const second = Math.floor(ts_us / 1e6)
    if (second !== this.#second) {
      this.#second = second
      this.#lines = 0
    }
    if (++this.#lines > limits.LOG_LINES_PER_NODE_PER_S) {
      this.#missed++
      return -1
    }
    const missed = this.#missed
    this.#missed = 0
    return missed
  }
}
