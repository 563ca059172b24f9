import { writeFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads'
import { WebSocket } from 'ws'
import { unpackLines } from '../../core/runs/log-lines.ts'
import { ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import type { EngineFrame, RunFrame, WelcomeFrame, WorkerFrame } from '../../protocol/worker/frames.ts'
import { encodeFrame, readFrame, WORKER_PROTOCOL } from '../../protocol/worker/wire.ts'
import type { FromCall, LogLevel } from '../lane/messages.ts'
import type { CallNode, NodeCall } from './call.ts'
import { keptLine, LineBudget } from './node-context.ts'
import { PrintedLines } from './printed/lines.ts'
import { addTaken, newTaken } from './send-window.ts'
import type { FromWorkerThread, ThreadStart, ToWorkerThread } from './worker-thread.ts'

/** What the program reads from its standard input, as JSON. */
export interface WorkerStart {
  /** `ws://127.0.0.1:8700/workers/attach` */
  readonly url: string
  /** Good for one attachment. */
  readonly token: string
}

/**
 * The worker program: a process that dials an engine and runs bodies for it, one call at a time, in a thread. Its main thread
 * runs nothing of a user's, so heartbeats go on whatever a body does. It ends with its connection, and everything that bodies have
 * started in its process group ends with it.
 *
 *   dialing -> greeted (hello) -> idle (welcome) <-> busy (run ... result or error) -> gone
 */
class WorkerProgram {
  readonly #socket: WebSocket
  readonly #printed = new LineBudget()
  readonly #taken = newTaken()
  #thread: Worker | null = null
  #port: MessagePort | null = null
  #welcome: WelcomeFrame | null = null
  #call: RunFrame | null = null
  #since_ms = 0
  #draining = false

  constructor({ url, token }: WorkerStart) {
    this.#socket = new WebSocket(url, {
      headers: { authorization: `Bearer ${token}` },
      maxPayload: limits.WORKER_FRAME_BYTES,
      perMessageDeflate: false,
    })
    this.#socket.on('open', () => this.#send({ t: 'hello', protocol: WORKER_PROTOCOL }))
    this.#socket.on('message', (bytes: Buffer) => this.#receive(bytes))
    this.#socket.on('error', error => console.error(`The connection to the engine failed: ${error.message}`))
    this.#socket.on('close', end)
  }

  #receive(bytes: Buffer): void {
    let frame: EngineFrame
    try {
      // It runs whatever the engine sends: nothing is gained by checking more of a frame than its form.
      frame = readFrame(bytes) as EngineFrame
    } catch (error) {
      console.error(error instanceof ServiceError ? error.detail : error)
      return end()
    }
    switch (frame.t) {
      case 'welcome':
        return this.#begin(frame)
      case 'refuse':
        console.error(`The engine refused this worker: ${frame.message}`)
        return end()
      case 'run':
        return this.#run(frame)
      case 'processed':
        if (frame.call === this.#call?.call) this.#say({ type: 'processed' })
        break
      case 'taken':
        // The thread may be blocked and receive nothing.
        if (frame.call !== this.#call?.call) break
        addTaken(this.#taken, 'points', frame.points)
        addTaken(this.#taken, 'lines', frame.characters ?? 0)
        break
      case 'volatile': {
        const { ask, stored, bytes, fell_out } = frame
        if (frame.call !== this.#call?.call) break
        this.#say({
          type: 'volatile',
          ask,
          stored,
          bytes: bytes === null ? null : Buffer.from(bytes, 'base64'),
          fell_out,
        })
        break
      }
      case 'secret':
        if (frame.call === this.#call?.call) this.#say({ type: 'secret', ask: frame.ask, text: frame.text })
        break
      case 'cancel':
        if (frame.call === this.#call?.call) this.#say({ type: 'abort', reason: frame.reason })
        break
      case 'drain':
        this.#draining = true
        if (this.#call === null) this.#leave()
        break
      default:
        frame satisfies never
        console.error('The engine sent a frame that this worker does not know.')
        end()
    }
  }

  #begin(welcome: WelcomeFrame): void {
    this.#welcome = welcome
    const { heartbeat_s, memory_mb } = welcome
    setInterval(() => this.#send({ t: 'heartbeat' }), heartbeat_s * 1000)
    if (memory_mb !== null) {
      const most = memory_mb * 2 ** 20
      setInterval(() => {
        if (process.memoryUsage.rss() > most)
          this.#over('out_of_memory', `Its process took more than ${Math.round(memory_mb)} MiB.`)
      }, limits.PROCESS_MEMORY_WATCH_MS)
    }
    const thread = new Worker(new URL('./worker-thread.ts', import.meta.url), {
      stdout: true,
      stderr: true,
      ...(memory_mb === null ? {} : { resourceLimits: { maxOldGenerationSizeMb: Math.ceil(memory_mb) } }),
    })
    const { port1, port2 } = new MessageChannel()
    thread.postMessage({ port: port2, taken: this.#taken } satisfies ThreadStart, [port2])
    port1.on('message', (message: FromWorkerThread) => this.#said(message))
    this.#follow(thread.stdout, 'info')
    this.#follow(thread.stderr, 'warn')
    thread.on('error', (error: Error & { code?: string }) => {
      if (error.code === 'ERR_WORKER_OUT_OF_MEMORY') this.#over('out_of_memory', 'Its heap was full.')
      else this.#over('worker_lost', `It left behind what nobody caught: ${error.message}.`)
    })
    thread.on('exit', code => this.#over('worker_lost', `It ended its process with code ${code}.`))
    this.#thread = thread
    this.#port = port1
  }

  /** What is printed past the thread's own streams, or when no body runs there. */
  #follow(stream: NodeJS.ReadableStream, level: LogLevel): void {
    const lines = new PrintedLines(line => {
      const missed = this.#printed.take(performance.now() * 1000)
      if (this.#call !== null && missed >= 0)
        this.#send({ t: 'log', call: this.#call.call, level, text: keptLine(line, missed) })
    })
    stream.setEncoding('utf8').on('data', (piece: string) => lines.add(piece))
  }

  #run(frame: RunFrame): void {
    const place = this.#welcome?.place
    if (this.#call !== null || this.#port === null || !place) {
      console.error('The engine sent a call that this worker cannot take.')
      return end()
    }
    this.#call = frame
    this.#since_ms = performance.now()
    const { flow, run, inputs, state } = frame
    const call: NodeCall = {
      flow,
      run: run === null ? null : { id: run },
      node: nodeOf(frame),
      inputs,
      state,
    }
    const artifacts = { folder: place.artifacts, max_bytes: place.max_artifact_bytes }
    const { bodies, volatile_bytes = 0, exchange = null } = place
    this.#say({ type: 'call', call, place: { bodies, artifacts, volatile_bytes, exchange } })
  }

  #say(message: ToWorkerThread): void {
    this.#port?.postMessage(message)
  }

  #said(message: FromWorkerThread): void {
    const call = this.#call?.call
    if (call === undefined) return
    if (message.type === 'volatile') {
      const { ask, digest } = message
      if (message.what === 'read') return this.#send({ t: 'volatile_read', call, ask, digest })
      if (message.what === 'store') return this.#send({ t: 'artifact_put', call, ask, digest, file: message.file })
      const bytes = Buffer.from(message.bytes.buffer, message.bytes.byteOffset, message.bytes.length).toString('base64')
      return this.#send({ t: 'volatile_put', call, ask, digest, bytes })
    }
    if (message.type === 'secret') return this.#send({ t: 'secret_read', call, ask: message.ask, name: message.name })
    const frame = frameOf(call, message)
    if (frame.t !== 'result' && frame.t !== 'error') return this.#send(frame)
    // What the body printed was posted before, but over another port: it is here two turns later.
    setImmediate(() => setImmediate(() => this.#ended(frame)))
  }

  #ended(frame: WorkerFrame): void {
    if (this.#call === null) return
    this.#call = null
    this.#send(frame)
    if (this.#draining) this.#leave()
  }

  /** The thread is gone, or has to go: so does the process. */
  #over(code: 'out_of_memory' | 'worker_lost', message: string): void {
    // Its exit is what counts.
    this.#thread?.terminate().catch(() => {})
    if (this.#call !== null) {
      const { call } = this.#call
      const ms = performance.now() - this.#since_ms
      this.#ended({ t: 'error', call, code, message, stack: null, state: null, ms })
    }
    this.#leave()
  }

  #leave(): void {
    this.#socket.close()
    setTimeout(end, limits.PROCESS_END_MS)
  }

  #send(frame: WorkerFrame): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(encodeFrame(frame))
  }
}

function frameOf(call: number, message: FromCall): WorkerFrame {
  switch (message.type) {
    case 'emit':
      return { t: 'emit', call, outputs: present(message.outputs as Record<string, unknown>) }
    case 'metrics':
      return { t: 'metric', call, points: message.points, dropped: message.dropped }
    case 'lines':
      return { t: 'lines', call, lines: [...unpackLines(message.lines)], dropped: message.dropped }
    case 'artifact':
      return { t: 'artifact', call, digest: message.digest }
    case 'returned': {
      const { outputs, state, ms } = message
      const given = (outputs ?? null) as Record<string, unknown> | null
      return { t: 'result', call, outputs: given && present(given), state, ms }
    }
    case 'threw': {
      const { failure, state, ms } = message
      return { t: 'error', call, ...failure, state, ms }
    }
    case 'note': {
      const { note } = message
      switch (note.type) {
        case 'gauge':
          return { t: 'metric', call, points: [{ name: note.name, value: note.value, step: note.step }] }
        case 'report':
          return { t: 'report', call, status: note.status, text: note.text }
        case 'log':
          return { t: 'log', call, level: note.level, text: note.text }
        default:
          throw new RangeError(`a body in a worker says nothing of ${note.type}`)
      }
    }
  }
}

/** A key without a value is one that was left out; msgpack has null alone. */
const present = (outputs: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(outputs).filter(([, value]) => value !== undefined))

function nodeOf({ flow, node, settings, body, ports }: RunFrame): CallNode {
  const outputs = ports.outputs.map(({ name, dtype }) => ({ port: name, dtype }))
  const qualified = `${flow}.${node}`
  return {
    id: node,
    qualified,
    settings,
    digest: body.digest,
    change_key: JSON.stringify(outputs),
    // The engine counts it.
    timeout_s: null,
    outputs,
  }
}

/** Together with whatever bodies have started in the same process group, and without waiting for a body that computes. */
function end(): void {
  try {
    process.kill(-process.pid, 'SIGKILL')
  } catch {
    process.kill(process.pid, 'SIGKILL')
  }
}

try {
  // Should memory run out, this process goes, not the engine.
  writeFileSync('/proc/self/oom_score_adj', '1000')
} catch {
  // Another system.
}
new WorkerProgram(JSON.parse(await text(process.stdin)) as WorkerStart)
