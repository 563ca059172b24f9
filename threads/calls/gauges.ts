import { limits } from '../../protocol/limits.ts'

/** The newest value of each gauge until somebody takes them: however often a body sets them, so many are kept for each node. */
export class Gauges<Value> {
  readonly #nodes = new Map<string, Map<string, Value>>()

  /** Answers what gave way to it: true, when the node has set more names than are kept. */
  set(node: string, name: string, value: Value): boolean {
    let of_node = this.#nodes.get(node)
    if (of_node === undefined) this.#nodes.set(node, (of_node = new Map()))
    const is_full = of_node.size >= limits.GAUGES_PER_NODE && !of_node.has(name)
    if (is_full) of_node.delete(of_node.keys().next().value!)
    of_node.set(name, value)
    return is_full
  }

  get isEmpty(): boolean {
    return this.#nodes.size === 0
  }

  /** All of them; none is left. */
  take(): Value[] {
    const taken = [...this.#nodes.values()].flatMap(of_node => [...of_node.values()])
    this.#nodes.clear()
    return taken
  }
}
