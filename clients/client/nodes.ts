import type { Fire } from '../../protocol/nouns/fire.ts'
import type { NodeDetail, TriedNode, TryNode } from '../../protocol/nouns/node.ts'
import type { NodeError } from '../../protocol/nouns/node-error.ts'
import type { NodeTypeInfo } from '../../protocol/nouns/node-type.ts'
import type { Calls } from './calls.ts'
import { type List, readPages } from './pages.ts'

/** Live nodes, each by `<flow>.<node>`. */
export class Nodes {
  readonly #calls: Calls

  constructor(calls: Calls) {
    this.#calls = calls
  }

  /** Its counts and latencies, and those of the wires to it. */
  get(node: string): Promise<NodeDetail> {
    return this.#calls.get(pathOf(node))
  }

  /** What nodes there can be: settings as JSON Schema, and ports. */
  types(): Promise<List<NodeTypeInfo>> {
    return readPages(this.#calls, '/node-types')
  }

  /** The last failed executions, newest first. */
  errors(node: string): Promise<List<NodeError>> {
    return this.#calls.get(`${pathOf(node)}/errors`)
  }

  /** What became of the occurrences of an inject node, newest first. */
  fires(node: string, page: { limit?: number; offset?: number } = {}): Promise<List<Fire>> {
    return this.#calls.get(`${pathOf(node)}/fires`, { ...page })
  }

  /** Runs its body once, on these inputs or the newest ones, with another source or other settings if they are given; nothing is published or kept. */
  async try(
    node: string,
    request: TryNode = {},
    { signal }: { readonly signal?: AbortSignal } = {},
  ): Promise<TriedNode> {
    const dot = node.indexOf('.')
    const [flow, id] = [node.slice(0, dot), node.slice(dot + 1)].map(encodeURIComponent)
    const call = { path: `/flows/${flow}/nodes/${id}/try`, json: request, ...(signal === undefined ? {} : { signal }) }
    return (await this.#calls.json<TriedNode>({ method: 'POST', ...call })).body
  }

  /** Its last error is seen: the node is no longer shown as failed. */
  async acknowledge(node: string): Promise<void> {
    await this.#calls.json({ method: 'POST', path: `${pathOf(node)}/acknowledge`, idempotent: true })
  }
}

const pathOf = (node: string): string => `/nodes/${encodeURIComponent(node)}`
