import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { EngineFile } from '../../protocol/installation.ts'
import type { Cascade } from '../../protocol/nouns/cascade.ts'
import type { EngineEvent } from '../../protocol/nouns/event.ts'
import type { Flow, SavedFlow } from '../../protocol/nouns/flow.ts'
import type { FlowDocument, FlowNode } from '../../protocol/nouns/flow-document.ts'
import type { HistoryPoint, Message, MessageHistory } from '../../protocol/nouns/message.ts'
import type { NodeError } from '../../protocol/nouns/node-error.ts'
import type { Summary } from '../../protocol/nouns/summary.ts'
import { formatTime, parseTime } from '../../protocol/time.ts'
import { ROOT } from './sources.ts'
import { directoryFor, type Ending, eventually, isAlive, QUICKLY, Spawned } from './spawned.ts'

export interface RealEngineOptions {
  /** A directory of the test's own when absent. */
  readonly data_dir?: string
  readonly argv?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  /** A program of the kit in place of `svc`; it is given the same words. */
  readonly program?: string
}

export interface Answer {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: tests say what they expect of it
  readonly json: any
}

/** `svc serve` as it is installed: supervisor, engine process, its own directory, asked over HTTP as the admin. */
export class RealEngine {
  readonly data_dir: string
  readonly process: Spawned
  url = ''
  #token = ''

  private constructor(data_dir: string, process: Spawned) {
    this.data_dir = data_dir
    this.process = process
  }

  /** Resolves when it answers. */
  static async start(t: Ending, options: RealEngineOptions = {}): Promise<RealEngine> {
    const engine = RealEngine.spawn(t, options)
    await engine.ready()
    return engine
  }

  static spawn(t: Ending, options: RealEngineOptions = {}): RealEngine {
    const data_dir = options.data_dir ?? join(directoryFor(t), 'data')
    const words = ['serve', '--plain', '--port', '0', '--data-dir', data_dir, ...(options.argv ?? [])]
    const { program, environment = {} } = options
    const spawned =
      program === undefined
        ? Spawned.svc(t, { cwd: ROOT, argv: words, environment })
        : new Spawned(t, process.execPath, [...QUICKLY, program, ...words], { cwd: ROOT, environment })
    return new RealEngine(data_dir, spawned)
  }

  async ready(): Promise<void> {
    this.url = await this.process.ready()
    this.#token = readFileSync(join(this.data_dir, 'token'), 'utf8')
  }

  get port(): number {
    return Number(new URL(this.url).port)
  }

  get token(): string {
    return this.#token
  }

  /** Of the engine process; the supervisor's is `process.child.pid`. */
  get pid(): number {
    return this.#file().pid
  }

  #file(): EngineFile {
    return JSON.parse(readFileSync(join(this.data_dir, 'engine.json'), 'utf8')) as EngineFile
  }

  get log(): string {
    return readFileSync(join(this.data_dir, 'serve.log'), 'utf8')
  }

  async ask(method: string, path: string, body?: unknown): Promise<Answer> {
    const answer = await fetch(this.url + path, {
      method,
      headers: { authorization: `Bearer ${this.#token}` },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    return { status: answer.status, json: text === '' ? null : JSON.parse(text) }
  }

  async #get<Result>(path: string): Promise<Result> {
    const { status, json } = await this.ask('GET', path)
    assert.equal(status, 200, `GET ${path}: ${JSON.stringify(json)}`)
    return json as Result
  }

  async save(name: string, document: FlowDocument): Promise<SavedFlow> {
    const { status, json } = await this.ask('PUT', `/flows/${name}`, { document })
    assert.ok(status === 200 || status === 201, `PUT /flows/${name}: ${JSON.stringify(json)}`)
    return json as SavedFlow
  }

  /** The version that it was accepted as. */
  async publish(name: string, value: unknown, how: { durable?: boolean } = {}): Promise<number> {
    const { status, json } = await this.ask('POST', `/messages/${name}`, { value, ...how })
    assert.equal(status, 202, `POST /messages/${name}: ${JSON.stringify(json)}`)
    return (json as { version: number }).version
  }

  flow(name: string): Promise<Flow> {
    return this.#get(`/flows/${name}`)
  }

  message(name: string): Promise<Message> {
    return this.#get(`/messages/${name}`)
  }

  /** Every point, oldest first. */
  async history(name: string): Promise<MessageHistory> {
    return this.#get(`/messages/${name}/history?limit=10000`)
  }

  /** Every point above a version, in the order of their versions, however many they are. `ts` is when that version was published. */
  async pointsSince(name: string, known: { version: number; ts: string | null }): Promise<HistoryPoint[]> {
    const found = new Map<number, HistoryPoint>()
    const since = known.ts === null ? '' : `&since=${encodeURIComponent(known.ts)}`
    for (let until = ''; ; ) {
      const { items, truncated } = await this.#get<MessageHistory>(
        `/messages/${name}/history?limit=10000${since}${until}`,
      )
      const points = items as HistoryPoint[]
      for (const point of points) if (point.version > known.version) found.set(point.version, point)
      if (!truncated) break
      // The oldest time of the page once more: points of one microsecond may lie on both sides.
      until = `&until=${encodeURIComponent(formatTime(parseTime(points[0]!.ts)! + 1))}`
    }
    return [...found.values()].sort((a, b) => a.version - b.version)
  }

  /** Newest first. */
  async errors(node: string): Promise<NodeError[]> {
    return (await this.#get<{ items: NodeError[] }>(`/nodes/${node}/errors`)).items
  }

  async events(type: string): Promise<EngineEvent[]> {
    return (await this.#get<{ items: EngineEvent[] }>(`/events?type=${type}&limit=1000`)).items
  }

  async cascades(flow: string): Promise<Cascade[]> {
    return (await this.#get<{ items: Cascade[] }>(`/cascades?flow=${flow}&limit=1000`)).items
  }

  summary(): Promise<Summary> {
    return this.#get('/observability/summary')
  }

  /** The first error of the node that the condition holds for. */
  error(node: string, holds: (error: NodeError) => boolean = () => true): Promise<NodeError> {
    return eventually(`${node} shows the error`, async () => (await this.errors(node)).find(holds))
  }

  async value(name: string, value: unknown): Promise<Message> {
    return eventually(`${name} is ${JSON.stringify(value)}`, async () => {
      const message = await this.message(name)
      return JSON.stringify(message.value) === JSON.stringify(value) ? message : null
    })
  }

  /** The engine process that answers after `pid` has gone. */
  restartedAfter(pid: number): Promise<true> {
    return eventually('another engine answers', async () => {
      if (this.process.child.exitCode !== null) assert.fail(`it ended: ${this.process.stderr}`)
      try {
        const file = this.#file()
        if (file.pid === pid || file.url === null) return null
        this.#token = readFileSync(join(this.data_dir, 'token'), 'utf8')
        return (await this.ask('GET', '/utils/health/')).status === 200 || null
      } catch {
        return null
      }
    })
  }

  /** `kill -9`: the engine first, then the supervisor before it starts another one. Resolves when both are gone. */
  async kill(): Promise<void> {
    const { pid } = this
    process.kill(pid, 'SIGKILL')
    this.process.child.kill('SIGKILL')
    await this.process.ended
    await eventually('the engine process is gone', () => !isAlive(pid))
  }

  /** As Ctrl-C does; resolves when both processes are gone. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
    const { pid } = this
    this.process.child.kill(signal)
    const ended = await this.process.ended
    await eventually('the engine process is gone', () => !isAlive(pid))
    return ended
  }
}

export interface NodeSpec {
  /** Of float messages unless `dtype` says otherwise. */
  readonly reads?: readonly string[]
  readonly makes?: readonly string[]
  readonly dtype?: 'float' | 'json' | 'str' | 'int'
  readonly more?: Partial<FlowNode>
}

/** A code node in JavaScript whose ports are named as their messages. */
export function body(
  id: string,
  source: string,
  { reads = [], makes = [], dtype = 'float', more }: NodeSpec = {},
): FlowNode {
  return {
    id,
    type: 'code',
    language: 'js',
    source,
    ports: {
      inputs: reads.map(name => ({ name, dtype: 'float' as const })),
      outputs: makes.map(name => ({ name, dtype })),
    },
    ...more,
  }
}

/** A flow whose float input `x` is read by each of the nodes. */
export function flowOf(...nodes: FlowNode[]): FlowDocument {
  return { inputs: [{ message: 'x', dtype: 'float' }], nodes }
}
