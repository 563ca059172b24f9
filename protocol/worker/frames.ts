import Type, { type Static, type TSchema } from 'typebox'
import { type ErrorCode, ServiceError } from '../errors.ts'
import { limits } from '../limits.ts'
import { describe } from '../values/describe.ts'
import { Dtype } from '../values/dtype.ts'
import { type Checker, createChecker } from '../values/explain.ts'
import { readFrame } from './wire.ts'

/**
 * Worker protocol 2: what an engine and a worker say to each other over one websocket, a msgpack map a frame. The page for those who
 * implement it is docs/worker-protocol.md, the vectors are test/conformance/worker-protocol.json. Keys that a frame does not
 * know are left alone, so that either end may be newer.
 */
const Call = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description: 'As the run frame says.' })
const Text = Type.String({ maxLength: 64 * 1024 })
const Named = Type.String({ maxLength: 256 })
const Values = Type.Record(Type.String(), Type.Unknown())
const nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])
const Amount = nullable(Type.Number({ minimum: 0, maximum: 1e12 }))
const Milliseconds = Type.Number({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })

// ---- worker to engine

export const HelloFrame = Type.Object({
  t: Type.Literal('hello'),
  /** Absent: taken for 2. */
  protocol: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000 })),
  labels: Type.Optional(Type.Array(Named, { maxItems: 64 })),
  /** Absent or null: nothing is accounted on its machine. */
  inventory: Type.Optional(nullable(Type.Object({ cpus: Amount, gpus: Amount, ram_mb: Amount }))),
})
export const EmitFrame = Type.Object({ t: Type.Literal('emit'), call: Call, outputs: Values })
export const MetricFrame = Type.Object({
  t: Type.Literal('metric'),
  call: Call,
  points: Type.Array(
    Type.Object({
      name: Type.String({ minLength: 1, maxLength: 64 }),
      value: Type.Number(),
      /** Null: one after the last of that name. */
      step: nullable(Type.Number()),
    }),
    { maxItems: limits.WORKER_METRIC_POINTS },
  ),
  /** Points that the body gave and that nobody took in time. */
  dropped: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
})
export const LogFrame = Type.Object({
  t: Type.Literal('log'),
  call: Call,
  level: Type.Union([Type.Literal('debug'), Type.Literal('info'), Type.Literal('warn'), Type.Literal('error')]),
  text: Text,
})
/** Lines of a batch run. */
export const LinesFrame = Type.Object({
  t: Type.Literal('lines'),
  call: Call,
  lines: Type.Array(
    Type.Object({
      /** Microseconds since 1970. */
      ts: Type.Number({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
      level: LogFrame.properties.level,
      text: Text,
    }),
    { maxItems: limits.WORKER_LOG_LINES },
  ),
  /** Lines that the body wrote and that nobody took in time. */
  dropped: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
})
export const ReportFrame = Type.Object({
  t: Type.Literal('report'),
  call: Call,
  status: Type.Union([Type.Literal('ok'), Type.Literal('down')]),
  text: Type.String({ maxLength: 1000 }),
})
export const ArtifactFrame = Type.Object({
  t: Type.Literal('artifact'),
  call: Call,
  digest: Type.String({ pattern: '^sha256:[0-9a-f]{64}$' }),
})
/** Base64: a frame holds no byte strings. */
const Bytes = Type.String({ maxLength: Math.ceil(limits.VOLATILE_PROCESS_BYTES / 3) * 4 })
const Ask = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description: 'The answer has the same.' })
export const VolatilePutFrame = Type.Object({
  t: Type.Literal('volatile_put'),
  call: Call,
  ask: Ask,
  digest: ArtifactFrame.properties.digest,
  bytes: Bytes,
})
export const VolatileReadFrame = Type.Object({
  t: Type.Literal('volatile_read'),
  call: Call,
  ask: Ask,
  digest: ArtifactFrame.properties.digest,
})
export const ArtifactPutFrame = Type.Object({
  t: Type.Literal('artifact_put'),
  call: Call,
  ask: Ask,
  digest: ArtifactFrame.properties.digest,
  /** Its name in the folder `exchange`. */
  file: Type.String({ pattern: '^[0-9a-f-]{36}$' }),
})
export const SecretReadFrame = Type.Object({
  t: Type.Literal('secret_read'),
  call: Call,
  ask: Ask,
  name: Type.String({ minLength: 1, maxLength: limits.SECRET_NAME_CHARACTERS }),
})
export const ResultFrame = Type.Object({
  t: Type.Literal('result'),
  call: Call,
  /** Null: the body answered nothing. */
  outputs: nullable(Values),
  state: Values,
  ms: Milliseconds,
})
export const ErrorFrame = Type.Object({
  t: Type.Literal('error'),
  call: Call,
  code: Named,
  message: Text,
  stack: nullable(Text),
  /** Null: as the run frame brought it. */
  state: nullable(Values),
  ms: Milliseconds,
})
export const HeartbeatFrame = Type.Object({ t: Type.Literal('heartbeat') })

// ---- engine to worker

export const WelcomeFrame = Type.Object({
  t: Type.Literal('welcome'),
  protocol: Type.Integer(),
  /** Seconds between two heartbeats. */
  heartbeat_s: Type.Number({ exclusiveMinimum: 0 }),
  /** Past so much resident memory the worker fails its call with `out_of_memory` and ends; null: it is not bounded. */
  memory_mb: nullable(Type.Number({ minimum: 1 })),
  /** Paths of a worker on the engine's own machine; null for any other. */
  place: nullable(
    Type.Object({
      bodies: Text,
      artifacts: Text,
      max_artifact_bytes: Type.Number({ minimum: 0 }),
      /** Of the largest volatile artifact; absent: the engine takes none. */
      volatile_bytes: Type.Optional(Type.Number({ minimum: 0 })),
      /** Where the worker writes artifacts for the engine to store; absent: it stores them itself. */
      exchange: Type.Optional(Text),
    }),
  ),
})
export const RefuseFrame = Type.Object({ t: Type.Literal('refuse'), code: Named, message: Text })
const Ports = Type.Array(Type.Object({ name: Named, dtype: Dtype }), { maxItems: limits.NODE_PORTS })
export const RunFrame = Type.Object({
  t: Type.Literal('run'),
  call: Call,
  flow: Named,
  /** The id of the node, without its flow. */
  node: Named,
  /** The id of the batch run; null in live execution. */
  run: nullable(Named),
  settings: Values,
  inputs: Values,
  state: Values,
  body: Type.Object({
    language: Type.Union([Type.Literal('js'), Type.Literal('python')]),
    /** SHA-256 of the body's source, hex. */
    digest: Type.String({ pattern: '^[0-9a-f]{64}$' }),
  }),
  ports: Type.Object({ inputs: Ports, outputs: Ports }),
  /** What the engine holds for this call; null: the node declares nothing. */
  allocated: nullable(
    Type.Object({
      cpus: Amount,
      cards: Type.Array(Type.Integer({ minimum: 0, maximum: limits.MACHINE_CARDS })),
      ram_mb: Amount,
    }),
  ),
})
export const ProcessedFrame = Type.Object({ t: Type.Literal('processed'), call: Call })
export const TakenFrame = Type.Object({
  t: Type.Literal('taken'),
  call: Call,
  points: Type.Integer({ minimum: 0, maximum: limits.WORKER_METRIC_POINTS }),
  /** Of lines: the characters of each, and 16. */
  characters: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
})
export const VolatileFrame = Type.Object({
  t: Type.Literal('volatile'),
  call: Call,
  ask: Ask,
  /** Of a put: it is held, or stored. Of a read: null when it is not. */
  stored: Type.Boolean(),
  bytes: nullable(Bytes),
  fell_out: Type.Boolean(),
})
export const SecretFrame = Type.Object({
  t: Type.Literal('secret'),
  call: Call,
  ask: Ask,
  /** Null: there is no such secret. */
  text: nullable(Type.String()),
})
export const CancelFrame = Type.Object({ t: Type.Literal('cancel'), call: Call, reason: Text })
export const DrainFrame = Type.Object({ t: Type.Literal('drain') })

/** By type. */
export const workerFrames = {
  hello: HelloFrame,
  emit: EmitFrame,
  metric: MetricFrame,
  log: LogFrame,
  lines: LinesFrame,
  report: ReportFrame,
  artifact: ArtifactFrame,
  volatile_put: VolatilePutFrame,
  volatile_read: VolatileReadFrame,
  artifact_put: ArtifactPutFrame,
  secret_read: SecretReadFrame,
  result: ResultFrame,
  error: ErrorFrame,
  heartbeat: HeartbeatFrame,
} as const
export const engineFrames = {
  welcome: WelcomeFrame,
  refuse: RefuseFrame,
  run: RunFrame,
  processed: ProcessedFrame,
  taken: TakenFrame,
  volatile: VolatileFrame,
  secret: SecretFrame,
  cancel: CancelFrame,
  drain: DrainFrame,
} as const

type FrameOf<Schemas extends Record<string, TSchema>> = {
  [Name in keyof Schemas]: Static<Schemas[Name]>
}[keyof Schemas]
export type WorkerFrame = FrameOf<typeof workerFrames>
export type EngineFrame = FrameOf<typeof engineFrames>
export type RunFrame = Static<typeof RunFrame>
export type WelcomeFrame = Static<typeof WelcomeFrame>
export type VolatileFrame = Static<typeof VolatileFrame>
export type HelloFrame = Static<typeof HelloFrame>

/** What an error frame may say of a body; any other code is taken for `node_error`. */
export const BODY_CODES: ReadonlySet<string> = new Set<ErrorCode>([
  'node_error',
  'undeclared_key',
  'bad_output',
  'wrong_dtype',
  'not_finite',
  'too_deep',
  'value_too_large',
  'emit_overflow',
  'state_too_large',
  'bad_state',
  'bad_metric',
  'bad_report',
  'bad_artifact',
  'bad_media_type',
  'secret_not_found',
  'artifact_not_found',
  'artifact_fell_out',
  'artifact_damaged',
  'too_large',
  'disk_full',
  'disk_read_only',
  'disk_failed',
  'body_not_loaded',
  'out_of_memory',
  'worker_lost',
  'interrupted',
])

const checkers = new Map<unknown, Checker>(
  Object.entries(workerFrames).map(([type, schema]) => [type, createChecker(schema)]),
)

/** A frame of a worker, of which nothing is taken on trust. Throws `too_large` or `bad_worker_frame`, and nothing else. */
export function decodeWorkerFrame(bytes: Uint8Array): WorkerFrame {
  const frame = readFrame(bytes)
  const checker = checkers.get(frame.t)
  if (checker === undefined)
    throw new ServiceError('bad_worker_frame', `The type of the frame is ${describe(frame.t)}.`)
  const [first] = checker.refusals(frame, `${frame.t}`)
  if (first !== undefined) throw new ServiceError('bad_worker_frame', `${first.loc} ${first.msg}.`)
  return frame as WorkerFrame
}
