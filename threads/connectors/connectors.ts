import { parentPort, workerData } from 'node:worker_threads'
import { ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import { ConnectorsMemory } from './memory.ts'
import type { ConnectorPlan, ConnectorsOfFlow, ConnectorsTask, FromConnectors, ToConnectors } from './messages.ts'
import { Reach } from './reach.ts'
import { ServedNode, type ServedParts } from './served.ts'
import { Sharing } from './sharing.ts'

interface Call {
  readonly abort: AbortController
  readonly began_ms: number
}

/**
 * The connectors thread: everything that reaches outside, or is reached from there. It runs no code of users. What a source publishes is a
 * publish like any other; a node that is woken by its inputs is called, as a body away from its lane is.
 *
 *   flow --> nodes open, those with the same change key stay --> drop: closed
 *   call --> its node, or one that is opened for it --> answered | failed
 */
class Connectors {
  readonly #memory: ConnectorsMemory
  readonly #serving: Pick<ServedParts, 'reach' | 'place' | 'timezone'>
  readonly #sharing = new Sharing(error => this.#defect(error))
  /** By flow, then by node. */
  readonly #flows = new Map<number, Map<string, ServedNode>>()
  /** Nodes that a batch run calls while no flow has them, by change key. */
  readonly #borrowed = new Map<string, ServedNode>()
  readonly #calls = new Map<number, Call>()
  #look: NodeJS.Timeout | null = null
  #stopping = false

  constructor(task: ConnectorsTask) {
    const { reach, artifacts, timezone } = task
    this.#memory = new ConnectorsMemory(task)
    this.#serving = { reach: new Reach(reach), place: artifacts, timezone }
  }

  run(): void {
    parentPort!.on('message', (message: ToConnectors) => this.#receive(message))
    this.#look = setInterval(() => this.#memory.look(), limits.CONNECTORS_LOOK_MS)
    this.#post({ type: 'entered', owner: this.#memory.owner })
  }

  #receive(message: ToConnectors): void {
    switch (message.type) {
      case 'flow':
        this.#take(message)
        break
      case 'drop':
        for (const node of this.#flows.get(message.flow)?.values() ?? []) this.#close(node)
        this.#flows.delete(message.flow)
        break
      case 'call':
        this.#call(message).catch(error => this.#defect(error))
        break
      case 'abort':
        this.#calls.get(message.call)?.abort.abort(new ServiceError('interrupted', message.reason))
        break
      case 'ping':
        this.#post({ type: 'pong' })
        break
      case 'stop':
        this.#stop().catch(error => this.#defect(error))
        break
      default:
        message satisfies never
    }
  }

  #take({ flow, nodes }: ConnectorsOfFlow): void {
    const before = this.#flows.get(flow) ?? new Map<string, ServedNode>()
    const now = new Map<string, ServedNode>()
    for (const plan of nodes) {
      const old = before.get(plan.qualified)
      if (old !== undefined && old.plan.change_key === plan.change_key) {
        old.routed(plan)
        now.set(plan.qualified, old)
        before.delete(plan.qualified)
      }
    }
    // Closed before their successors open: a port that both listen on is free then, and what only the old ones shared is let go.
    for (const old of before.values()) this.#close(old)
    for (const plan of nodes) if (!now.has(plan.qualified)) now.set(plan.qualified, this.#open(plan, true))
    this.#flows.set(flow, now)
  }

  #open(plan: ConnectorPlan, live: boolean): ServedNode {
    const closed = this.#ending.get(plan.node) ?? Promise.resolve()
    return new ServedNode(plan, live, closed, {
      memory: this.#memory,
      sharing: this.#sharing,
      ...this.#serving,
      isStopping: () => this.#stopping,
      onDefect: error => this.#defect(error),
    })
  }

  /** Of nodes that are being closed: their successor opens when they have let go. By index, which a node keeps when its flow is renamed. */
  readonly #ending = new Map<number, Promise<void>>()

  #close(node: ServedNode): void {
    const index = node.plan.node
    const late = new Promise<void>(resolve => setTimeout(resolve, limits.CONNECTOR_CLOSE_MS).unref())
    // One that waits for its predecessor holds nothing yet, and closes before that.
    const before = this.#ending.get(index)
    const closed = Promise.race([node.close().catch(error => this.#defect(error)), late])
    const ending: Promise<void> = Promise.all([before, closed]).then(() => {
      if (this.#ending.get(index) === ending) this.#ending.delete(index)
    })
    this.#ending.set(index, ending)
  }

  async #call({ call, plan, inputs }: Extract<ToConnectors, { type: 'call' }>): Promise<void> {
    const began_ms = performance.now()
    const abort = new AbortController()
    this.#calls.set(call, { abort, began_ms })
    const node = this.#nodeOf(plan)
    node.calls++
    try {
      const outputs = await node.call(inputs, abort.signal)
      this.#post({ type: 'answered', call, outputs, ms: performance.now() - began_ms })
    } catch (error) {
      const { code, detail } = error instanceof ServiceError ? error : { code: 'node_error', detail: String(error) }
      const failure = { code, message: `${plan.qualified}: ${detail}`, stack: null }
      this.#post({ type: 'failed', call, failure, ms: performance.now() - began_ms })
    }
    this.#calls.delete(call)
    node.calls--
    this.#giveBack(node)
  }

  #nodeOf(plan: ConnectorPlan): ServedNode {
    for (const nodes of this.#flows.values()) {
      const live = nodes.get(plan.qualified)
      if (live?.plan.change_key === plan.change_key) return live
    }
    const key = `${plan.qualified} ${plan.change_key}`
    let borrowed = this.#borrowed.get(key)
    if (borrowed === undefined) this.#borrowed.set(key, (borrowed = this.#open(plan, false)))
    return borrowed
  }

  /** Runs come one after the other: what one has opened waits a while for the next. */
  #giveBack(node: ServedNode): void {
    if (node.live || node.calls > 0) return
    const key = `${node.plan.qualified} ${node.plan.change_key}`
    setTimeout(() => {
      if (node.calls > 0 || this.#borrowed.get(key) !== node) return
      this.#borrowed.delete(key)
      this.#close(node)
    }, limits.CONNECTOR_BORROWED_MS).unref()
  }

  async #stop(): Promise<void> {
    this.#stopping = true
    if (this.#look !== null) clearInterval(this.#look)
    for (const { abort } of this.#calls.values())
      abort.abort(new ServiceError('interrupted', 'The engine is stopping.'))
    for (const nodes of this.#flows.values()) for (const node of nodes.values()) this.#close(node)
    for (const node of this.#borrowed.values()) this.#close(node)
    await Promise.all(this.#ending.values())
    await Promise.race([
      this.#sharing.closed(),
      new Promise(resolve => setTimeout(resolve, limits.CONNECTOR_CLOSE_MS).unref()),
    ])
    this.#memory.leave()
    this.#post({ type: 'left' })
    // A library may keep a handle: nothing is left to wait for.
    process.exit(0)
  }

  #defect(error: unknown): void {
    this.#post({ type: 'defect', text: error instanceof Error ? (error.stack ?? error.message) : String(error) })
  }

  #post(message: FromConnectors): void {
    parentPort!.postMessage(message)
  }
}

new Connectors(workerData as ConnectorsTask).run()
