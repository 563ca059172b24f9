import type { Masks } from '../../../core/masks/table.ts'
import type { VolatileStore } from '../../../core/memory/volatile/store.ts'
import { LinePacker, sizeOfLine } from '../../../core/runs/log-lines.ts'
import { type ErrorCode, ServiceError } from '../../../protocol/errors.ts'
import { limits } from '../../../protocol/limits.ts'
import { createCodec } from '../../../protocol/values/codec.ts'
import { BODY_CODES, type RunFrame } from '../../../protocol/worker/frames.ts'
import { failure, failureOf } from '../../../threads/calls/node-call.ts'
import { keptLine, LineBudget } from '../../../threads/calls/node-context.ts'
import { encodeState } from '../../../threads/lane/kept-state.ts'
import type { CallOutcome, LogLevel, Note, ToCall } from '../../../threads/lane/messages.ts'
import { fatal } from '../../watch/fatal.ts'
import type { BodyCall, BodyRequest, CallPlace, Loss } from '../body-call.ts'
import type { ArtifactExchange } from './artifact-exchange.ts'
import type { CallFrame } from './attached-worker.ts'
import type { WorkerProcess } from './worker-process.ts'

export interface ProcessPlaceParts {
  /** The process may take another call. */
  release(process: WorkerProcess): void
  /** The process takes no other call. */
  retire(process: WorkerProcess): void
  /** Whether the front is closing: then a lost connection tells nothing about the body. */
  isClosing(): boolean
  now_us(): number
  /** The store of volatile artifacts; null when there is none. */
  readonly volatile: VolatileStore | null
  /** The folder where processes of the body user leave artifacts; null when they write into the store themselves. */
  readonly exchange: ArtifactExchange | null
  /** An error of the disk. */
  failed(error: unknown): void
  /** A process has no table of masks, so its texts are masked here. */
  readonly masks: Masks
  /** A secret that a body of the node requests; null when it does not exist. */
  secret(node: string, name: string): string | null
}

const codec = createCodec()
/** Errors after which the process ends, too. */
const LAST_CODES: ReadonlySet<string> = new Set(['out_of_memory', 'worker_lost'])

/** A worker process as the place of one call. Checks its frames and turns them into messages of the call. */
export class ProcessPlace implements CallPlace {
  readonly #parts: ProcessPlaceParts
  readonly #process: WorkerProcess
  readonly #call: BodyCall
  readonly #printed = new LineBudget()
  /** Its connection ended because the front is closing; the process is ended with the engine. */
  #stranded = false
  #killed = false

  constructor(parts: ProcessPlaceParts, process: WorkerProcess, call: BodyCall) {
    this.#parts = parts
    this.#process = process
    this.#call = call
  }

  run(call: BodyCall): void {
    const { request } = call
    this.#process.worker!.run(runFrame(request), {
      said: frame => this.#said(frame),
      lost: loss => this.#lost(loss),
    })
    this.#process.onLine = (text, level) => this.#line(text, level)
    call.begun()
    const { port } = request
    if (port === null) return
    // The lane also sends that it gave the call up; that is ignored here, since the front ends the call.
    port.on('message', (message: ToCall) => {
      if (message.type === 'processed') this.tell(message)
    })
    port.unref()
  }

  tell(message: ToCall): void {
    if (message.type === 'processed') this.#process.worker?.processed()
    else if (message.type === 'taken') this.#process.worker?.taken(message.what, message.count)
    else this.#process.worker?.cancel(message.reason)
  }

  end(): void {
    this.#killed = true
    this.#process.kill()
    if (this.#stranded) this.#gone(null).catch(fatal)
  }

  #said(frame: CallFrame): void {
    const { node, run } = this.#call.request
    switch (frame.t) {
      case 'emit':
        return this.#call.said({ type: 'emit', outputs: frame.outputs })
      case 'artifact':
        if (run !== null) this.#call.said({ type: 'artifact', digest: frame.digest })
        break
      case 'volatile_put':
      case 'volatile_read':
        return this.#volatile(frame)
      case 'artifact_put':
        return this.#store(frame)
      case 'secret_read': {
        const text = this.#parts.secret(node.qualified, frame.name)
        return this.#process.worker?.secret(frame.ask, text)
      }
      case 'metric':
        if (run !== null) return this.#call.said({ type: 'metrics', points: frame.points, dropped: frame.dropped ?? 0 })
        for (const point of frame.points)
          this.#note({ type: 'gauge', node: node.qualified, ...point, ts: this.#parts.now_us() })
        break
      case 'lines':
        return this.#lines(frame)
      case 'log':
        return this.#note({
          type: 'log',
          node: node.qualified,
          level: frame.level,
          text: frame.text,
          ts: this.#parts.now_us(),
        })
      case 'report': {
        const { status, text } = frame
        return this.#note({ type: 'report', node: node.qualified, status, text, ts: this.#parts.now_us() })
      }
      case 'result':
      case 'error':
        // Output that the process printed before is in its pipes by now and is read within the next turn.
        setImmediate(() => setImmediate(() => this.#last(frame)))
        break
      default:
        frame satisfies never
    }
  }

  /** The front reads and writes the store directly, so the answer is sent at once. */
  #volatile(frame: Extract<CallFrame, { t: 'volatile_put' | 'volatile_read' }>): void {
    const { volatile } = this.#parts
    const key = Buffer.from(frame.digest.slice('sha256:'.length), 'hex')
    const put = frame.t === 'volatile_put' && volatile !== null
    const bytes = frame.t === 'volatile_put' ? Buffer.from(frame.bytes, 'base64') : null
    const stored = put && bytes!.length <= volatile.largest && volatile.put(key, bytes!)
    const found = frame.t === 'volatile_read' ? (volatile?.read(key) ?? null) : null
    const fits = found !== null && found.length <= limits.VOLATILE_PROCESS_BYTES
    this.#process.worker?.answered({
      ask: frame.ask,
      stored,
      bytes: fits ? found.toString('base64') : null,
      fell_out: frame.t === 'volatile_read' && found === null && (volatile?.hasFallenOut(key) ?? false),
    })
  }

  #store({ ask, file, digest }: Extract<CallFrame, { t: 'artifact_put' }>): void {
    const { exchange, failed } = this.#parts
    const answer = (stored: boolean): void =>
      this.#process.worker?.answered({ ask, stored, bytes: null, fell_out: false })
    if (exchange === null) return answer(false)
    exchange.take(file, digest).then(answer, error => {
      failed(error)
      answer(false)
    })
  }

  #last(frame: Extract<CallFrame, { t: 'result' | 'error' }>): void {
    if (this.#call.mode === 'ended') return
    const outcome = frame.t === 'result' ? this.#returned(frame) : this.#threw(frame)
    const lost = frame.t === 'error' && LAST_CODES.has(frame.code) ? (frame.code as ErrorCode) : null
    if (lost === null) this.#parts.release(this.#process)
    else this.#parts.retire(this.#process)
    this.#call.over(outcome, lost)
  }

  #note(note: Note): void {
    this.#call.said({ type: 'note', note: this.#parts.masks.deep(note) })
  }

  #lines({ lines, dropped = 0 }: Extract<CallFrame, { t: 'lines' }>): void {
    const packer = new LinePacker()
    let size = 0
    for (const { level, ts, text } of lines) {
      size += sizeOfLine(text)
      packer.add(level, ts, keptLine(this.#parts.masks.text(text), 0))
    }
    // The worker counts its own bytes, so it is told the same number when the lines are taken.
    this.#call.said({ type: 'lines', lines: { ...packer.take(), size }, dropped })
  }

  /** A line that the process printed outside its body thread. */
  #line(text: string, level: LogLevel): void {
    const missed = this.#printed.take(performance.now() * 1000)
    if (missed < 0) return
    const { qualified } = this.#call.request.node
    this.#note({
      type: 'log',
      node: qualified,
      level,
      text: keptLine(this.#parts.masks.text(text), missed),
      ts: this.#parts.now_us(),
    })
  }

  /** A state that cannot be kept is refused as in a thread: the outputs count, and the state of before stays. */
  #returned({ outputs, state, ms }: Extract<CallFrame, { t: 'result' }>): CallOutcome {
    const refusal = this.#refusalOf(state)
    if (refusal === null) return { type: 'returned', outputs: outputs ?? undefined, state, ms }
    if (outputs !== null) this.#call.said({ type: 'emit', outputs })
    return { type: 'threw', failure: failureOf(refusal), state: this.#call.request.state, ms }
  }

  #threw({ code, message, stack, state, ms }: Extract<CallFrame, { t: 'error' }>): CallOutcome {
    const { node, state: before } = this.#call.request
    const reason = LAST_CODES.has(code)
      ? failure(code as ErrorCode, `${node.qualified}: ${message}`)
      : { code: BODY_CODES.has(code) ? (code as ErrorCode) : ('node_error' as const), message, stack }
    const keeps = state !== null && this.#refusalOf(state) === null
    return { type: 'threw', failure: reason, state: keeps ? state : before, ms }
  }

  #refusalOf(state: Record<string, unknown>): ServiceError | null {
    const encoded = encodeState(codec, { k: '', s: state }, this.#call.request.node.qualified)
    return encoded instanceof ServiceError ? encoded : null
  }

  #lost(loss: Loss | null): void {
    this.#stranded = this.#parts.isClosing() && !this.#killed
    if (!this.#stranded) this.#gone(loss).catch(fatal)
  }

  /** The reason is that of the process, unless the engine knows a better one. The call releases what it held when the process has ended. */
  async #gone(loss: Loss | null): Promise<void> {
    this.#parts.retire(this.#process)
    const found = await this.#process.gone
    this.#call.gone(loss ?? found)
  }
}

function runFrame({ flow, run, node, inputs, state, grant }: BodyRequest): Omit<RunFrame, 't' | 'call'> {
  const ports = (list: readonly { port: string; dtype: RunFrame['ports']['inputs'][number]['dtype'] }[]) =>
    list.map(({ port, dtype }) => ({ name: port, dtype }))
  return {
    flow,
    node: node.id,
    run: run?.id ?? null,
    settings: node.settings,
    inputs,
    state,
    body: { language: node.language === 'python' ? 'python' : 'js', digest: node.digest! },
    ports: { inputs: ports(node.inputs), outputs: ports(node.outputs) },
    allocated: grant && { cpus: grant.granted.cpus, cards: [...grant.cards], ram_mb: grant.granted.ram_mb },
  }
}
