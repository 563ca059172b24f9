import type { Steps } from '../steps.ts'

/**
 * Wave order: which edges go back, and in which order the nodes of one wave run.
 *
 * A trigger edge goes from the node that produces a message to a node that wakes on it. A depth-first search in document
 * order, along each node's edges in document order, names the back edges: those that lead to a node still being visited
 * (a self loop is one). The remaining graph has no loop. Reads without trigger order the nodes as well, except where a read takes
 * part in a loop: such a node means the previous value.
 *
 * Nothing here recurses: a chain of 2,000 nodes is an ordinary document.
 */
export interface Edges {
  /** How many nodes there are; they are numbered in document order. */
  count: number
  /** Per node the nodes that it wakes, ascending, each once. */
  triggers: readonly (readonly number[])[]
  /** Per node the nodes that read what it produces without being woken, ascending, each once. */
  reads: readonly (readonly number[])[]
}

export interface Arrangement {
  /** Wave order as document numbers. */
  order: number[]
  /** Document number -> position in wave order. */
  position: number[]
  /** Is the trigger edge `from -> to` (document numbers) a back edge? */
  isBack(from: number, to: number): boolean
  /** By position: bitset of the positions from which it is reached over forward edges and ordering reads. */
  upstream: Uint32Array[]
}

/** In steps of some milliseconds at most, with the most edges that a document may have. */
export function* arrangeSteps(edges: Edges): Steps<Arrangement> {
  const back = backEdges(edges)
  yield
  const isBack = (from: number, to: number): boolean => back.has(from * edges.count + to)
  const ordering = orderingEdges(edges, isBack)
  yield
  const order = topological(ordering)
  yield
  const position = new Array<number>(edges.count)
  for (let at = 0; at < order.length; at++) position[order[at]!] = at
  return { order, position, isBack, upstream: yield* reachedFrom(order, position, ordering) }
}

/** Edges as `from * count + to`. */
function backEdges({ count, triggers }: Edges): Set<number> {
  const back = new Set<number>()
  const state = new Uint8Array(count) // 0 not seen, 1 being visited, 2 done
  const next = new Uint32Array(count)
  const path: number[] = []
  for (let root = 0; root < count; root++) {
    if (state[root] !== 0) continue
    path.push(root)
    state[root] = 1
    while (path.length > 0) {
      const from = path[path.length - 1]!
      const to = triggers[from]![next[from]!]
      if (to === undefined) {
        state[from] = 2
        path.pop()
        continue
      }
      next[from]!++
      if (state[to] === 1) back.add(from * count + to)
      else if (state[to] === 0) {
        state[to] = 1
        path.push(to)
      }
    }
  }
  return back
}

/** Forward edges, and the reads that lie in no loop together with them. */
function orderingEdges({ count, triggers, reads }: Edges, isBack: (from: number, to: number) => boolean): number[][] {
  const forward = triggers.map((targets, from) => targets.filter(to => !isBack(from, to)))
  if (!reads.some(targets => targets.length > 0)) return forward
  const component = components(
    count,
    forward.map((targets, from) => [...targets, ...reads[from]!]),
  )
  return forward.map((targets, from) => [
    ...new Set([...targets, ...reads[from]!.filter(to => component[to] !== component[from])]),
  ])
}

/** Tarjan's strongly connected components; two nodes lie in a common loop when their numbers are equal. */
export function components(count: number, edges: readonly (readonly number[])[]): Int32Array {
  const component = new Int32Array(count).fill(-1)
  const seen = new Int32Array(count).fill(-1)
  const low = new Int32Array(count)
  const next = new Uint32Array(count)
  const open: number[] = []
  const path: number[] = []
  let clock = 0
  for (let root = 0; root < count; root++) {
    if (seen[root] !== -1) continue
    path.push(root)
    while (path.length > 0) {
      const from = path[path.length - 1]!
      if (seen[from] === -1) {
        seen[from] = low[from] = clock++
        open.push(from)
      }
      const to = edges[from]![next[from]!++]
      if (to !== undefined) {
        if (seen[to] === -1) path.push(to)
        else if (component[to] === -1) low[from] = Math.min(low[from]!, seen[to]!)
        continue
      }
      path.pop()
      const parent = path[path.length - 1]
      if (parent !== undefined) low[parent] = Math.min(low[parent]!, low[from]!)
      if (low[from] !== seen[from]) continue
      for (let member = -1; member !== from; ) {
        member = open.pop()!
        component[member] = from
      }
    }
  }
  return component
}

/** Kahn's order; of the nodes that may come next, the first of the document does. */
function topological(edges: readonly (readonly number[])[]): number[] {
  const missing = new Uint32Array(edges.length)
  for (const targets of edges) for (const to of targets) missing[to]!++
  const ready = new LeastFirst()
  for (let node = 0; node < edges.length; node++) if (missing[node] === 0) ready.push(node)
  const order: number[] = []
  for (let node = ready.pop(); node !== undefined; node = ready.pop()) {
    order.push(node)
    for (const to of edges[node]!) if (--missing[to]! === 0) ready.push(to)
  }
  if (order.length !== edges.length) throw new RangeError('forward edges form a loop')
  return order
}

/** Bitsets by position; `order` is topological, so each row is complete before it is handed on. */
function* reachedFrom(
  order: readonly number[],
  position: readonly number[],
  edges: readonly (readonly number[])[],
): Steps<Uint32Array[]> {
  const words = Math.ceil(order.length / 32)
  const upstream = order.map(() => new Uint32Array(words))
  for (const [at, node] of order.entries()) {
    const mine = upstream[at]!
    for (const to of edges[node]!) {
      const theirs = upstream[position[to]!]!
      for (let word = 0; word < words; word++) theirs[word]! |= mine[word]!
      theirs[at >>> 5]! |= 1 << (at & 31)
    }
    yield
  }
  return upstream
}

/** A binary heap of numbers. */
class LeastFirst {
  readonly #items: number[] = []

  push(item: number): void {
    const items = this.#items
    let at = items.length
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (items[parent]! <= item) break
      items[at] = items[parent]!
      at = parent
    }
    items[at] = item
  }

  pop(): number | undefined {
    const items = this.#items
    const least = items[0]
    const last = items.pop()
    if (last === undefined || items.length === 0) return least
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= items.length) break
      if (child + 1 < items.length && items[child + 1]! < items[child]!) child++
      if (items[child]! >= last) break
      items[at] = items[child]!
      at = child
    }
    items[at] = last
    return least
  }
}
