import { type MessagePort, parentPort } from 'node:worker_threads'
import { tooLargeForVolatile } from '../../core/memory/volatile/store.ts'
import { digestOf } from '../../protocol/artifact-names.ts'
import type { LogLevel } from '../../protocol/nouns/run-log.ts'
import type { FromCall, ToCall } from '../lane/messages.ts'
import { type SecretAnswer, SecretAsks } from '../secret-asks.ts'
import type { ArtifactPlace, VolatileHands } from './artifact-files.ts'
import { type CallPlace, knownNode, type NodeCall, NodeCallTask } from './call.ts'
import type { CallLine, CallListener } from './call-line.ts'
import { PrintedOutput, type PrintTarget } from './printed/output.ts'
import type { Taken } from './send-window.ts'

/** The worker program to the thread of its bodies. Back come FromCall messages; `returned` and `threw` end a call. */
export type ToWorkerThread =
  | { readonly type: 'call'; readonly call: NodeCall; readonly place: WorkerPlace }
  | VolatileAnswer
  | ({ readonly type: 'secret' } & SecretAnswer)
  | ToCall

/** As its engine told it. */
export interface WorkerPlace extends CallPlace {
  /** Of the largest volatile artifact; 0: the engine takes none. */
  readonly volatile_bytes: number
  /** Where artifacts are written for the engine to store; null: the process stores them itself. */
  readonly exchange: string | null
}

/** What its bodies ask the volatile store of the engine, and what they have written for its artifacts. */
export type VolatileAsk = { readonly type: 'volatile'; readonly ask: number; readonly digest: string } & (
  | { readonly what: 'put'; readonly bytes: Uint8Array }
  | { readonly what: 'read' }
  | { readonly what: 'store'; readonly file: string }
)

export interface VolatileAnswer {
  readonly type: 'volatile'
  readonly ask: number
  readonly stored: boolean
  readonly bytes: Uint8Array | null
  readonly fell_out: boolean
}

/** What its bodies ask: `secret` with the same number follows. */
export interface SecretAsk {
  readonly type: 'secret'
  readonly ask: number
  readonly name: string
}

export type FromWorkerThread = FromCall | VolatileAsk | SecretAsk

/** The first message to it. */
export interface ThreadStart {
  readonly port: MessagePort
  readonly taken: Taken
}

/** To the program's main thread, over a port that bodies cannot reach. */
class ProgramLine implements CallLine {
  readonly #port: MessagePort

  constructor(port: MessagePort) {
    this.#port = port
  }

  send(message: FromCall): void {
    this.#port.postMessage(message)
  }
}

/** The volatile store of the engine, through the program's connection. */
class EngineVolatile implements VolatileHands {
  largest = 0
  readonly #port: MessagePort
  readonly #open = new Map<number, (answer: VolatileAnswer) => void>()
  #asks = 0

  constructor(port: MessagePort) {
    this.#port = port
  }

  answered(answer: VolatileAnswer): void {
    this.#open.get(answer.ask)?.(answer)
    this.#open.delete(answer.ask)
  }

  async put(digest: Uint8Array, bytes: Uint8Array): Promise<boolean> {
    if (bytes.length > this.largest) throw tooLargeForVolatile(this.largest)
    // A copy of these bytes alone: a message would carry all of the memory that they lie in.
    const copy = Uint8Array.from(bytes)
    return (await this.#ask({ what: 'put', digest: nameOf(digest), bytes: copy }, [copy.buffer])).stored
  }

  async read(digest: Uint8Array): Promise<Buffer | null> {
    const { bytes } = await this.#ask({ what: 'read', digest: nameOf(digest) })
    return bytes === null ? null : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  }

  async hasFallenOut(digest: Uint8Array): Promise<boolean> {
    return (await this.#ask({ what: 'read', digest: nameOf(digest) })).fell_out
  }

  /** A file that was written for the engine. */
  async store(digest: Uint8Array, file: string): Promise<boolean> {
    return (await this.#ask({ what: 'store', digest: nameOf(digest), file })).stored
  }

  #ask(
    what:
      | { what: 'put'; digest: string; bytes: Uint8Array }
      | { what: 'read'; digest: string }
      | { what: 'store'; digest: string; file: string },
    transfer: ArrayBuffer[] = [],
  ): Promise<VolatileAnswer> {
    const ask = ++this.#asks
    this.#port.postMessage({ type: 'volatile', ask, ...what } satisfies VolatileAsk, transfer)
    return new Promise(resolve => this.#open.set(ask, resolve))
  }
}

const nameOf = (digest: Uint8Array): string => digestOf(Buffer.from(digest).toString('hex'))

/** The thread of a worker program that runs bodies, one at a time. */
class WorkerThread implements PrintTarget {
  readonly #port: MessagePort
  readonly #taken: Taken
  readonly #printed: PrintedOutput
  readonly #volatile: EngineVolatile
  readonly #secrets: SecretAsks
  #listener: CallListener | null = null
  /** What runs. */
  #task: NodeCallTask | null = null

  constructor({ port, taken }: ThreadStart) {
    this.#port = port
    this.#taken = taken
    this.#volatile = new EngineVolatile(port)
    this.#secrets = new SecretAsks((ask, name) => port.postMessage({ type: 'secret', ask, name } satisfies SecretAsk))
    this.#printed = new PrintedOutput(this, false)
    port.on('message', (message: ToWorkerThread) => {
      if (message.type === 'call') void this.#run(message.call, message.place)
      else if (message.type === 'volatile') this.#volatile.answered(message)
      else if (message.type === 'secret') this.#secrets.answered(message)
      else this.#listener?.receive(message)
    })
  }

  readonly #ask = (name: string, node: string): Promise<string | null> => this.#secrets.ask(name, node)

  printed(line: string, level: LogLevel): boolean {
    return this.#task?.printed(line, level) ?? false
  }

  async #run(task: NodeCall, { volatile_bytes, exchange, ...place }: WorkerPlace): Promise<void> {
    this.#volatile.largest = volatile_bytes
    const artifacts: ArtifactPlace = {
      ...place.artifacts,
      ...(volatile_bytes > 0 && { engine: this.#volatile }),
      ...(exchange !== null && {
        exchange: { folder: exchange, take: (digest, file) => this.#volatile.store(digest, file) },
      }),
    }
    const here = { ...place, artifacts, taken: this.#taken, secret: this.#ask, ended: () => this.#printed.flush() }
    const call = new NodeCallTask(task, knownNode(task.node), here, listener => {
      this.#listener = listener
      return new ProgramLine(this.#port)
    })
    this.#task = call
    const outcome = await call.run()
    this.#task = null
    this.#listener = null
    this.#port.postMessage(outcome satisfies FromCall)
  }
}

// The first message brings the port: a body that is loaded later finds nothing on parentPort.
parentPort?.once('message', (start: ThreadStart) => new WorkerThread(start))
