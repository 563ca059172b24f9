import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ServiceError } from '../../protocol/errors.ts'
import type { FlowDocument } from '../../protocol/nouns/flow-document.ts'
import type { Dtype } from '../../protocol/values/dtype.ts'
import type { Engine } from '../../server/engine.ts'
import { eventually } from './live-engine.ts'

type Node = FlowDocument['nodes'][number]
type Input = NonNullable<Node['ports']['inputs']>[number]
type Output = NonNullable<Node['ports']['outputs']>[number]

export const input = (name: string, dtype: Dtype = 'json', more: Partial<Input> = {}): Input => ({
  name,
  dtype,
  ...more,
})

export const output = (name: string, dtype: Dtype = 'json', more: Partial<Output> = {}): Output => ({
  name,
  dtype,
  ...more,
})

/** A code node. */
export const code = (
  id: string,
  source: string,
  inputs: Input[],
  outputs: Output[] = [],
  more: Partial<Node> = {},
): Node => ({ id, type: 'code', source, ports: { inputs, outputs }, ...more })

export const inject = (id: string, settings: Record<string, unknown>, out: Output): Node => ({
  id,
  type: 'inject',
  settings,
  ports: { inputs: [], outputs: [out] },
})

/** A node of any other type. */
export const node = (
  id: string,
  type: string,
  settings: Record<string, unknown>,
  inputs: Input[] = [],
  outputs: Output[] = [],
): Node => ({ id, type, settings, ports: { inputs, outputs } })

export const flow = (nodes: Node[], ...inputs: NonNullable<FlowDocument['inputs']>): FlowDocument => ({
  nodes,
  inputs,
})

/** A body that is held up until a test lets it go: it looks for a file. */
export class Gate {
  readonly path: string

  constructor(data_dir: string, name = 'gate') {
    this.path = join(data_dir, `${name}.open`)
  }

  /** Stands at the top of a body's source; `await opened()` waits. */
  get source(): string {
    return `import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
const opened = async () => { while (!existsSync(${JSON.stringify(this.path)})) await sleep(2) }
`
  }

  /** The same for a body that stops its thread meanwhile; \`opened()\` waits. */
  get blockingSource(): string {
    return `import { existsSync } from 'node:fs'
const word = new Int32Array(new SharedArrayBuffer(4))
const opened = () => { while (!existsSync(${JSON.stringify(this.path)})) Atomics.wait(word, 0, 0, 2) }
`
  }

  open(): void {
    writeFileSync(this.path, '')
  }

  get isOpen(): boolean {
    return existsSync(this.path)
  }
}

/** Waits for as long as the number grows: a loaded machine is slow, an engine that hangs stands still. */
async function grows(count: () => number, least: number, what: string): Promise<void> {
  for (let seen = count(); seen < least; seen = count())
    await eventually(() => count() > seen, `${what}: ${seen} of ${least}`)
}

/** A running engine in the words of these tests. */
export class Story {
  readonly engine: Engine

  constructor(engine: Engine) {
    this.engine = engine
  }

  save(name: string, document: FlowDocument) {
    return this.engine.flows.save(name, { document }, 'tests')
  }

  publish(name: string, value: unknown): number {
    return this.engine.messages.publish([{ name, value }])[0]!.version
  }

  /** Comes again as long as the flow is busy, as a client does: a lane may stand still inside a publish for want of a processor. */
  async publishPatiently(name: string, value: unknown): Promise<number> {
    for (;;) {
      try {
        return this.publish(name, value)
      } catch (error) {
        if (!(error instanceof ServiceError) || error.code !== 'backlogged') throw error
        await sleep(5)
      }
    }
  }

  value(name: string): unknown {
    return this.engine.messages.get(name).value
  }

  version(name: string): number {
    return this.engine.messages.get(name).version
  }

  /** Every value that the message ever had, oldest first, once there are as many as its version says. */
  async values(name: string, least = 0): Promise<unknown[]> {
    await this.reaches(name, least)
    const read = async () => {
      const whole = { since_us: null, until_us: null, limit: 10_000, bucket_s: null }
      return (await this.engine.messages.history(name, whole)).items
    }
    await eventually(async () => (await read()).length >= this.version(name), `the history of ${name}`)
    return (await read()).map(item => ('value' in item ? item.value : null))
  }

  reaches(name: string, version: number): Promise<void> {
    return grows(() => this.version(name), version, `version of ${name}`)
  }

  becomes(name: string, value: unknown): Promise<void> {
    const wanted = JSON.stringify(value)
    return eventually(() => JSON.stringify(this.value(name)) === wanted, `${name} is ${wanted}`)
  }

  node(flow: string, id: string) {
    return this.engine.flows.get(flow).node_status.find(one => one.id === id)!
  }

  executed(flow: string, id: string, times: number): Promise<void> {
    return grows(() => this.node(flow, id).executions, times, `executions of ${flow}.${id}`)
  }

  /** The node's errors, newest first, once there are so many. */
  async errors(node: string, least = 1) {
    const read = async () => (await this.engine.nodes.errors(node)).items
    await eventually(async () => (await read()).length >= least, `${least} errors of ${node}`)
    return read()
  }

  issue(flow: string, issue: string) {
    return this.engine.flows.get(flow).issues.find(one => one.code === issue)
  }

  shows(flow: string, issue: string): Promise<void> {
    return eventually(() => this.issue(flow, issue) !== undefined, `the issue ${issue} of ${flow}`)
  }

  async dropped(reason: string): Promise<number> {
    return (await this.engine.observe.summary()).dropped[reason] ?? 0
  }

  async cascades(flow: string, status: 'interrupted' | null = null) {
    const page = { limit: 1000, offset: 0, status, since_us: null, before_us: null }
    return (await this.engine.observe.cascades({ ...page, flow })).items
  }

  /** The events of a flow, oldest first, once there are so many of the type. */
  async events(flow: string, type: string, least = 1) {
    const read = async () =>
      (await this.engine.observe.events({ limit: 1000, offset: 0, flow, type, since_us: null, until_us: null })).items
    await eventually(async () => (await read()).length >= least, `${least} events ${type} of ${flow}`)
    return (await read()).reverse()
  }

  /** What the engine answers when it refuses. */
  refusal(change: () => unknown): { code: string; detail: string; retry_after_s: number | null } {
    try {
      change()
    } catch (error) {
      const { code, detail, retry_after_s = null } = error as { code: string; detail: string; retry_after_s?: number }
      return { code, detail, retry_after_s }
    }
    throw new RangeError('nothing was refused')
  }
}

/** A refusal that comes as a rejected promise. */
export async function refused(change: Promise<unknown>): Promise<string> {
  try {
    await change
  } catch (error) {
    return (error as { code: string }).code
  }
  throw new RangeError('nothing was refused')
}
