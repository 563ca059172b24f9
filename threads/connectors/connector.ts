import type { ErrorCode } from '../../protocol/errors.ts'
import type { ArtifactReference, Dtype } from '../../protocol/values/dtype.ts'
import type { Reach } from './reach.ts'

/** A node that the connectors thread serves: as the document has it, secrets looked up. */
export interface ServedNode<Settings> {
  /** `flow.node` */
  readonly qualified: string
  readonly settings: Settings
  readonly inputs: readonly ServedPort[]
  readonly outputs: readonly ServedPort[]
  /** Where its lane leaves messages that are to be sent; null: it is only called. */
  readonly outbox?: SharedArrayBuffer | null
}

export interface ServedPort {
  readonly name: string
  readonly dtype: Dtype
}

/** What became of values that a node wants to publish. */
export type Published =
  /** They stand, in one cascade. */
  | 'published'
  /** Nothing of it stands, and it may be tried again: see `whenRoom`. Whoever gives up says `dropped`. */
  | 'full'
  /** A value does not fit its port: the node has an error, and the rest was not published. Trying again is of no use. */
  | 'refused'

/** What a runner may ask of the thread for one node. From `close` of the node on everything but `dropped` is without effect, and that when it resolves. */
export interface ConnectorHost {
  /**
   * Publishes values by output port, in one cascade. A port that is not declared is passed over; nothing at all to publish is `published`.
   * Synchronous: a value that is `published` is in shared memory, and outlives this thread.
   */
  publish(outputs: Readonly<Record<string, unknown>>): Published
  /** The same by place of the output port, for a source that has a value for most of them each time; undefined: none. */
  publishPlaced(values: readonly unknown[]): Published
  /**
   * Keeps bytes as a volatile artifact; the reference is what a port of dtype artifact, image, audio or video publishes. Null: the store is
   * busy, and nothing was kept; give the bytes up as `dropped`. Throws `too_large`.
   */
  volatile(bytes: Uint8Array, media_type: string, meta?: Readonly<Record<string, unknown>>): ArtifactReference | null
  /** Resolves when the flow may take something again, at the latest after `limits.CONNECTOR_ROOM_MS`; also when the node is closed. */
  whenRoom(): Promise<void>
  /** Many publishes at once: readers get them, and the promise of `publish` holds, when `publishes` has returned. It does not wait for anything. */
  batch<Result>(publishes: () => Result): Result
  /** Counted, and shown as an issue of the flow. */
  dropped(reason: string, count: number): void
  /** An execution that failed: kept with the node's errors. */
  failed(code: ErrorCode, message: string, inputs?: unknown): void
  /** The last thing that a step does: whatever it published stands. Clears the issue. */
  ok(): void
  /** A sentence without the node's name: `the broker 127.0.0.1:1883 refuses the connection`. */
  down(reason: string): void
  log(level: 'info' | 'warn' | 'error', text: string): void
  /** A number of the node, shown with it and in `/metrics`. */
  gauge(name: string, value: number): void
  /**
   * What is shared by all nodes that ask with the same key, opened by the first of them and closed after the last one's `release`. The key
   * holds everything that makes a difference, credentials too; it is never shown.
   */
  share<Thing extends Shareable>(key: string, open: () => Thing): Lease<Thing>
  /** The engine stops: what the other side keeps for the next start is left there. */
  readonly stopping: boolean
  /** Where relative paths in settings begin: the folder that holds the data directory. */
  readonly folder: string
  /** Which addresses may be reached: whoever opens a connection asks it. */
  readonly reach: Reach
  readonly artifacts: ConnectorArtifacts
  /** IANA name; cron expressions are read in it. */
  readonly timezone: string
  /** Milliseconds of a clock that never jumps. */
  steadyMs(): number
  /** Microseconds since 1970. */
  nowUs(): number
  /** [0, 1) */
  random(): number
}

export interface ConnectorArtifacts {
  /** On disk when it resolves. Refuses with `too_large` and the errors of the disk. */
  store(content: AsyncIterable<Uint8Array>, media_type: string): Promise<ArtifactReference>
  /** All of its bytes. */
  read(reference: ArtifactReference): Promise<Uint8Array>
}

export interface Shareable {
  /** Everything that it holds outside is let go; waits for nothing longer than `limits.CONNECTOR_CLOSE_MS`. */
  close(): void | Promise<void>
}

export interface Lease<Thing> {
  readonly thing: Thing
  release(): void
}

/** One execution of a node that is woken by its inputs. */
export interface ConnectorCall {
  readonly inputs: Readonly<Record<string, unknown>>
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: AbortSignal
}

/** A node that is being served. */
export interface OpenConnector {
  /** Of a node with inputs: what it publishes, by output port. A rejection is the error of the execution; a `ServiceError` keeps its code. */
  call?(call: ConnectorCall): Promise<Readonly<Record<string, unknown>>>
  /** Lets go of everything that the node holds. Called once. */
  close(): void | Promise<void>
}

/** What serves the nodes of one type. */
export interface ConnectorRunner<Settings> {
  /** Never throws for what is outside: that is a `down`. Called again after every change of the node, and with each new thread. */
  open(node: ServedNode<Settings>, host: ConnectorHost): OpenConnector
}
