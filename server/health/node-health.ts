import { limits } from '../../protocol/limits.ts'
import type { Issue } from '../../protocol/nouns/issue.ts'
import type { NodeError } from '../../protocol/nouns/node-error.ts'
import { formatTime } from '../../protocol/time.ts'

interface Down {
  text: string
  since_us: number
}

interface Failed {
  readonly error: NodeError
  good: number
}

interface Trouble {
  code: 'slow_body' | 'blocked_lane' | 'cycle'
  text: string
  since_us: number
}

/** What may be wrong with a node, so that what it produces is not to be trusted. */
export type IssueCode = 'node_down' | 'node_error' | 'cycle'

/** What the threads say of nodes, as the flows' issues and the summary show it: derived on read, cleared when the node is well again. */
export class NodeHealth {
  readonly #errors = new Map<string, Failed>()
  readonly #goodOf: ((node: string) => number) | null
  readonly #downs = new Map<string, Down>()
  readonly #troubles = new Map<string, Trouble>()
  readonly #gauges = new Map<string, Map<string, number>>()
  readonly #dropped = new Map<string, number>()
  /** By flow and reason. */
  readonly #dropped_of = new Map<string, Map<string, number>>()

  /** `goodOf` counts the executions of a node that went well; null keeps errors until they are acknowledged. */
  constructor(goodOf: ((node: string) => number) | null) {
    this.#goodOf = goodOf
  }

  /** `good`: executions of the node that had gone well when it failed. */
  failed(error: NodeError, good = this.#goodOf?.(error.node) ?? 0): void {
    this.#errors.set(error.node, { error, good })
  }

  acknowledge(node: string): void {
    this.#errors.delete(node)
  }

  /** The last error of a node that has not run well since; asked for on read, so that an execution costs nothing more. */
  #shown(node: string): NodeError | null {
    const failed = this.#errors.get(node)
    if (failed === undefined) return null
    const good = this.#goodOf?.(node) ?? failed.good
    if (good > failed.good) {
      this.#errors.delete(node)
      return null
    }
    // The counts of a node that was changed begin again.
    failed.good = good
    return failed.error
  }

  /** True when this changes what is shown. */
  report(node: string, status: 'ok' | 'down', text: string, since_us: number): boolean {
    const before = this.#downs.get(node)
    if (status === 'ok') return this.#downs.delete(node)
    if (before?.text === text) return false
    this.#downs.set(node, { text, since_us: before?.since_us ?? since_us })
    return before === undefined
  }

  downSince(node: string): string | null {
    const down = this.#downs.get(node)
    return down === undefined ? null : formatTime(down.since_us)
  }

  downText(node: string): string | null {
    return this.#downs.get(node)?.text ?? null
  }

  trouble(node: string, code: Trouble['code'], text: string, since_us: number): void {
    this.#troubles.set(node, { code, text, since_us })
  }

  /** The trouble is over; another one of the node stays. */
  well(node: string, code: Trouble['code']): void {
    if (this.#troubles.get(node)?.code === code) this.#troubles.delete(node)
  }

  gauge(node: string, name: string, value: number): void {
    let gauges = this.#gauges.get(node)
    if (gauges === undefined) this.#gauges.set(node, (gauges = new Map()))
    // A body may make up names as it goes: the oldest gauge gives way.
    if (gauges.size >= limits.GAUGES_PER_NODE && !gauges.has(name)) gauges.delete(gauges.keys().next().value!)
    gauges.set(name, value)
  }

  gaugesOf(node: string): Record<string, number> {
    return Object.fromEntries(this.#gauges.get(node) ?? [])
  }

  gauges(): Iterable<[node: string, gauges: ReadonlyMap<string, number>]> {
    return this.#gauges
  }

  dropped(flow: string, reason: string, count: number): void {
    this.#dropped.set(reason, (this.#dropped.get(reason) ?? 0) + count)
    let of_flow = this.#dropped_of.get(flow)
    if (of_flow === undefined) this.#dropped_of.set(flow, (of_flow = new Map()))
    of_flow.set(reason, (of_flow.get(reason) ?? 0) + count)
  }

  droppedByReason(): Record<string, number> {
    return Object.fromEntries(this.#dropped)
  }

  get downCount(): number {
    return this.#downs.size
  }

  /** By flow: nodes that are down, and those with an error that is shown. */
  troubled(): Map<string, { down: number; errors: number }> {
    const troubled = new Map<string, { down: number; errors: number }>()
    const of = (node: string): { down: number; errors: number } => {
      const flow = node.slice(0, node.indexOf('.'))
      const found = troubled.get(flow) ?? { down: 0, errors: 0 }
      troubled.set(flow, found)
      return found
    }
    for (const node of this.#downs.keys()) of(node).down++
    for (const node of this.#errors.keys()) if (this.#shown(node) !== null) of(node).errors++
    return troubled
  }

  get unacknowledged(): number {
    let count = 0
    for (const node of this.#errors.keys()) if (this.#shown(node) !== null) count++
    return count
  }

  /** Its last error stands: it is not acknowledged, and the node has not run well since. */
  hasError(node: string): boolean {
    return this.#shown(node) !== null
  }

  /** Each node with something wrong that is not advice, and how much that is: a node that is no more, too. */
  *troubledNodes(): Iterable<{ node: string; issues: number; isDown: boolean }> {
    const nodes = new Set([...this.#downs.keys(), ...this.#errors.keys(), ...this.#troubles.keys()])
    for (const node of nodes) {
      const isDown = this.#downs.has(node)
      const isLoop = this.#troubles.get(node)?.code === 'cycle'
      const issues = Number(isDown) + Number(this.hasError(node)) + Number(isLoop)
      if (issues > 0) yield { node, issues, isDown }
    }
  }

  /** Of how many kinds things of the flow were dropped: an issue each. */
  droppedKinds(flow: string): number {
    return this.#dropped_of.get(flow)?.size ?? 0
  }

  /** What is wrong with the node now: the worst of it. */
  troubleOf(node: string): { code: IssueCode; since: string } | null {
    const down = this.#downs.get(node)
    if (down !== undefined) return { code: 'node_down', since: formatTime(down.since_us) }
    const error = this.#shown(node)
    if (error !== null) return { code: 'node_error', since: error.ts }
    const trouble = this.#troubles.get(node)
    return trouble?.code === 'cycle' ? { code: 'cycle', since: formatTime(trouble.since_us) } : null
  }

  issuesOf(flow: string, node_ids: readonly string[]): Issue[] {
    const issues: Issue[] = []
    for (const id of node_ids) {
      const node = `${flow}.${id}`
      const down = this.#downs.get(node)
      if (down)
        issues.push({
          code: 'node_down',
          advisory: false,
          message: `${node} reports itself down: ${down.text}`,
          node: id,
          since: formatTime(down.since_us),
        })
      const error = this.#shown(node)
      if (error !== null)
        issues.push({ code: 'node_error', advisory: false, message: error.message, node: id, since: error.ts })
      const trouble = this.#troubles.get(node)
      if (trouble) {
        const advisory = trouble.code !== 'cycle'
        issues.push({
          code: trouble.code,
          advisory,
          message: trouble.text,
          node: id,
          since: formatTime(trouble.since_us),
        })
      }
    }
    for (const [reason, count] of this.#dropped_of.get(flow) ?? []) {
      issues.push({
        code: DROPPED_ISSUE[reason] ?? 'values_dropped',
        advisory: false,
        message: `${count} dropped since the engine started: ${reason}.`,
        node: null,
        since: null,
      })
    }
    return issues
  }

  /** The nodes start afresh. */
  forget(flow: string, node_ids: Iterable<string>): void {
    for (const id of node_ids) {
      const node = `${flow}.${id}`
      this.#downs.delete(node)
      this.#troubles.delete(node)
      this.#gauges.delete(node)
    }
  }

  forgetFlow(flow: string, node_ids: Iterable<string>): void {
    const ids = [...node_ids]
    this.forget(flow, ids)
    for (const id of ids) this.#errors.delete(`${flow}.${id}`)
    this.#dropped_of.delete(flow)
  }

  rename(from: string, to: string, node_ids: readonly string[]): void {
    for (const id of node_ids) {
      move(this.#downs, `${from}.${id}`, `${to}.${id}`)
      move(this.#troubles, `${from}.${id}`, `${to}.${id}`)
      move(this.#gauges, `${from}.${id}`, `${to}.${id}`)
      const failed = this.#errors.get(`${from}.${id}`)
      this.#errors.delete(`${from}.${id}`)
      if (failed) this.#errors.set(`${to}.${id}`, { ...failed, error: { ...failed.error, node: `${to}.${id}` } })
    }
    move(this.#dropped_of, from, to)
  }
}

const DROPPED_ISSUE: Readonly<Record<string, string>> = {
  hard_cap: 'child_dropped',
  inject_refused: 'inject_refused',
  plan_changed: 'plan_changed',
}

function move<Value>(map: Map<string, Value>, from: string, to: string): void {
  const value = map.get(from)
  if (value === undefined) return
  map.delete(from)
  map.set(to, value)
}
