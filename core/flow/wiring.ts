import type { FlowFacts, World } from './facts.ts'
import type { FlowWiring } from './plan.ts'

/**
 * Who reads what across flows, kept up to date save by save: the cost of one save depends on the flow's own messages and
 * neighbours, not on how many flows there are.
 *
 * There is an edge `a -> b` when an enabled flow `b` has a trigger port on a message that `a` declares. A disabled flow is
 * woken by nothing; its messages stay known.
 */
export class Wiring implements FlowWiring, World {
  readonly #facts = new Map<string, FlowFacts>()
  /** Message (qualified) -> enabled flows with a trigger port on it, declared or not. */
  readonly #readers = new Map<string, Set<string>>()
  /** Flow -> flows that name any message of it. */
  readonly #referencing = new Map<string, Set<string>>()
  /** Edges, both ways. */
  readonly #targets = new Map<string, Set<string>>()
  readonly #sources = new Map<string, Set<string>>()
  /** Filled on demand, dropped for every flow whose reach may have changed. */
  readonly #reachable = new Map<string, readonly string[]>()
  #revision = 0

  /** Goes up with each change: what was derived before is out of date. */
  get revision(): number {
    return this.#revision
  }

  flow(name: string): FlowFacts | null {
    return this.#facts.get(name) ?? null
  }

  /**
   * Takes the flow's new facts. Answers the other flows whose plans are out of date by it: those that can reach a changed
   * edge, whose messages gained or lost a reader, or that read a message whose dtype changed.
   */
  set(facts: FlowFacts): string[] {
    return this.#replace(facts.flow, facts)
  }

  /** Forgets the flow; answers as `set` does. */
  remove(flow: string): string[] {
    return this.#replace(flow, null)
  }

  readersOf(message: string): Iterable<string> {
    return this.#readers.get(message) ?? []
  }

  /** The flows that name a message of this one in any port: those that a rename rewrites. */
  referencing(flow: string): string[] {
    return [...(this.#referencing.get(flow) ?? [])]
  }

  reachable(flow: string): readonly string[] {
    let reached = this.#reachable.get(flow)
    if (reached === undefined) {
      const found = closure([flow], this.#targets)
      found.delete(flow)
      reached = [...found]
      this.#reachable.set(flow, reached)
    }
    return reached
  }

  /**
   * The shortest cycle through this flow for each flow that it wakes: `['a', 'b']` says that a wakes b and b wakes a. A
   * loop inside one flow is not among them.
   */
  cyclesThrough(flow: string): string[][] {
    // Towards the flow: from each flow that can reach it, the next one on a shortest path.
    const next = new Map<string, string>()
    const queue = [flow]
    for (let at = 0; at < queue.length; at++)
      for (const source of this.#sources.get(queue[at]!) ?? []) {
        if (source === flow || next.has(source)) continue
        next.set(source, queue[at]!)
        queue.push(source)
      }
    const cycles: string[][] = []
    for (const target of [...(this.#targets.get(flow) ?? [])].sort()) {
      if (!next.has(target)) continue
      const cycle = [flow]
      for (let step = target; step !== flow; step = next.get(step)!) cycle.push(step)
      cycles.push(cycle)
    }
    return cycles
  }

  #replace(flow: string, after: FlowFacts | null): string[] {
    this.#revision++
    const before = this.#facts.get(flow) ?? null
    const stale = new Set<string>()
    for (const reader of this.#referencing.get(flow) ?? [])
      if (sawChange(flow, before, after, this.#facts.get(reader)!)) stale.add(reader)

    const triggersBefore = wakes(before)
    const triggersAfter = wakes(after)
    for (const message of triggersBefore)
      if (!triggersAfter.has(message)) this.#changeReader(message, flow, false, stale)
    for (const message of triggersAfter)
      if (!triggersBefore.has(message)) this.#changeReader(message, flow, true, stale)
    for (const owner of owners(before?.references)) drop(this.#referencing, owner, flow)
    for (const owner of owners(after?.references)) put(this.#referencing, owner, flow)
    if (after === null) this.#facts.delete(flow)
    else this.#facts.set(flow, after)

    this.#rewire(flow, triggersBefore, triggersAfter, stale)
    stale.delete(flow)
    return [...stale]
  }

  #changeReader(message: string, flow: string, reads: boolean, stale: Set<string>): void {
    ;(reads ? put : drop)(this.#readers, message, flow)
    const owner = ownerOf(message)
    if (this.#facts.has(owner)) stale.add(owner)
  }

  /** Sets the edges into and out of the flow; whatever could or can reach a changed one is stale. */
  #rewire(flow: string, before: ReadonlySet<string>, after: ReadonlySet<string>, stale: Set<string>): void {
    const changes: { from: string; to: string; there: boolean }[] = []
    const compare = (from: string, to: string, there: boolean): void => {
      if ((this.#targets.get(from)?.has(to) ?? false) !== there) changes.push({ from, to, there })
    }
    const targets = new Set<string>()
    for (const message of this.#facts.get(flow)?.messages.keys() ?? [])
      for (const reader of this.#readers.get(`${flow}.${message}`) ?? []) if (reader !== flow) targets.add(reader)
    for (const target of new Set([...targets, ...(this.#targets.get(flow) ?? [])]))
      compare(flow, target, targets.has(target))

    const sources = new Set<string>()
    for (const message of after) {
      const owner = ownerOf(message)
      if (owner !== flow && this.#facts.get(owner)?.messages.has(message.slice(owner.length + 1))) sources.add(owner)
    }
    for (const source of new Set([...owners(before), ...owners(after)])) compare(source, flow, sources.has(source))

    if (changes.length === 0) return
    const starts = changes.map(change => change.from)
    const touched = closure(starts, this.#sources)
    for (const { from, to, there } of changes) {
      ;(there ? put : drop)(this.#targets, from, to)
      ;(there ? put : drop)(this.#sources, to, from)
    }
    for (const reaching of closure(starts, this.#sources)) touched.add(reaching)
    for (const reaching of touched) {
      this.#reachable.delete(reaching)
      stale.add(reaching)
    }
  }
}

const ownerOf = (message: string): string => message.slice(0, message.indexOf('.'))
const owners = (messages: ReadonlySet<string> | undefined): Set<string> => new Set([...(messages ?? [])].map(ownerOf))
const wakes = (facts: FlowFacts | null): ReadonlySet<string> => (facts?.enabled ? facts.triggers : new Set())

/** Did a message of `flow` that the reader names appear, go or change its dtype? */
function sawChange(flow: string, before: FlowFacts | null, after: FlowFacts | null, reader: FlowFacts): boolean {
  for (const reference of reader.references) {
    if (ownerOf(reference) !== flow) continue
    const name = reference.slice(flow.length + 1)
    if (before?.messages.get(name)?.dtype !== after?.messages.get(name)?.dtype) return true
  }
  return false
}

/** The starts and all that the edges lead to from them. */
function closure(starts: Iterable<string>, edges: ReadonlyMap<string, ReadonlySet<string>>): Set<string> {
  const found = new Set(starts)
  // A Set may grow while it is walked: each new member is walked too.
  for (const flow of found) for (const next of edges.get(flow) ?? []) found.add(next)
  return found
}

function put(map: Map<string, Set<string>>, key: string, member: string): void {
  const members = map.get(key)
  if (members === undefined) map.set(key, new Set([member]))
  else members.add(member)
}

function drop(map: Map<string, Set<string>>, key: string, member: string): void {
  const members = map.get(key)
  if (members?.delete(member) && members.size === 0) map.delete(key)
}
