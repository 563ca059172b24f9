import type { Indexer } from '../../core/flow/plan.ts'
import { type ErrorCode, ServiceError } from '../../protocol/errors.ts'
import type { FrontMemory } from '../lanes/front-memory.ts'

/** Names of one kind and the rows of shared memory that they stand for. A row is not used again while the engine runs. */
class Rows {
  readonly #index = new Map<string, number>()
  readonly #name: (string | null)[] = []
  readonly #rows: number
  readonly #full: ErrorCode
  readonly #take: (index: number, name: string) => void

  constructor(rows: number, full: ErrorCode, take: (index: number, name: string) => void) {
    this.#rows = rows
    this.#full = full
    this.#take = take
  }

  of(name: string): number {
    const known = this.#index.get(name)
    if (known !== undefined) return known
    const index = this.#name.length
    if (index >= this.#rows) {
      throw new ServiceError(
        this.#full,
        `This engine has used all ${this.#rows} rows since it started; a restart frees the rows of deleted names.`,
      )
    }
    this.#index.set(name, index)
    this.#name.push(name)
    this.#take(index, name)
    return index
  }

  find(name: string): number {
    return this.#index.get(name) ?? -1
  }

  name(index: number): string | null {
    return this.#name[index] ?? null
  }

  rename(from: string, to: string): void {
    const index = this.#index.get(from)
    if (index === undefined) return
    this.#index.delete(from)
    this.#index.set(to, index)
    this.#name[index] = to
  }

  get room(): number {
    return this.#rows - this.#name.length
  }
}

export interface NewNames {
  messages: [index: number, name: string][]
  flows: [index: number, name: string][]
  nodes: [index: number, name: string][]
}

/** Engine-wide indexes of flows, messages and nodes. New ones are gathered, so that the store learns of them before a record carries one. */
export class Names implements Indexer {
  readonly #flows: Rows
  readonly #messages: Rows
  readonly #nodes: Rows
  readonly #wires = new Map<string, number>()
  readonly #wire_rows: number
  #new: NewNames = { messages: [], flows: [], nodes: [] }

  constructor(front: FrontMemory) {
    const { sizes } = front.memory
    this.#wire_rows = sizes.wires
    this.#flows = new Rows(sizes.flows, 'too_many_flows', (index, name) => {
      front.flows.reset(index)
      this.#new.flows.push([index, name])
    })
    this.#messages = new Rows(sizes.messages, 'too_many_messages', (index, name) => {
      const flow = name.slice(0, name.indexOf('.'))
      front.messages.reset(index, this.#flows.of(flow))
      this.#new.messages.push([index, name])
    })
    this.#nodes = new Rows(sizes.nodes, 'too_many_nodes', (index, name) => {
      front.counters.reset(index)
      this.#new.nodes.push([index, name])
    })
  }

  flow(name: string): number {
    return this.#flows.of(name)
  }

  message(name: string): number {
    return this.#messages.of(name)
  }

  node(qualified: string): number {
    return this.#nodes.of(qualified)
  }

  /** By indexes, which a rename leaves as they are. A wire without a row is not measured by itself. */
  wire(message: number, node: number, port: string): number {
    const key = `${message} ${node} ${port}`
    const known = this.#wires.get(key)
    if (known !== undefined) return known
    if (this.#wires.size >= this.#wire_rows) return -1
    this.#wires.set(key, this.#wires.size)
    return this.#wires.size - 1
  }

  flowName(index: number): string | null {
    return this.#flows.name(index)
  }

  nodeName(index: number): string | null {
    return this.#nodes.name(index)
  }

  findNode(qualified: string): number {
    return this.#nodes.find(qualified)
  }

  findMessage(qualified: string): number {
    return this.#messages.find(qualified)
  }

  /** A flow of these sizes can be taken; throws what is full otherwise. */
  assertRoom(messages: number, nodes: number): void {
    const full = (code: ErrorCode, what: string): ServiceError =>
      new ServiceError(code, `No rows are left for ${what} of this flow; a restart frees the rows of deleted names.`)
    if (this.#flows.room < 1) throw full('too_many_flows', 'the name')
    if (this.#messages.room < messages) throw full('too_many_messages', 'the messages')
    if (this.#nodes.room < nodes) throw full('too_many_nodes', 'the nodes')
  }

  takeNew(): NewNames {
    const taken = this.#new
    this.#new = { messages: [], flows: [], nodes: [] }
    return taken
  }

  /** The rows stay what they are; only their names change. */
  rename(from: string, to: string, messages: readonly string[], nodes: readonly string[]): void {
    this.#flows.rename(from, to)
    for (const message of messages) this.#messages.rename(`${from}.${message}`, `${to}.${message}`)
    for (const node of nodes) this.#nodes.rename(`${from}.${node}`, `${to}.${node}`)
    this.#new.flows.push([this.flow(to), to])
    for (const message of messages) this.#new.messages.push([this.message(`${to}.${message}`), `${to}.${message}`])
    for (const node of nodes) this.#new.nodes.push([this.node(`${to}.${node}`), `${to}.${node}`])
  }
}
