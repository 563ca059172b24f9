import type { FlowNode } from '../../../../protocol/nouns/flow-document.ts'
import { type NodeBody, node } from '../../../kit/flow-story.ts'
import { randomFrom } from '../../../kit/random.ts'

/** Draws from one stream of random numbers. */
export class Chance {
  readonly #random: () => number

  constructor(start: number) {
    this.#random = randomFrom(start)
  }

  below(end: number): number {
    return Math.floor(this.#random() * end)
  }

  happens(share: number): boolean {
    return this.#random() < share
  }

  pick<Item>(list: readonly Item[]): Item {
    return list[this.below(list.length)]!
  }
}

/** What a body does in one execution. `ports` are those of each emission, in order; what ends it comes after them. */
export interface Script {
  readonly ports: readonly (readonly string[])[]
  /** `returns`: the last emission is what it returns. `refused`: it returns a value that its port does not take. */
  readonly end: 'returns' | 'nothing' | 'throws' | 'undeclared' | 'refused'
}

/** Executions of one node that may still publish something; it is silent after that, so that every loop ends. */
const LOUD = 24

/** The same for the same seed, node, ports and number of execution. */
export function scriptOf(seed: number, id: string, ports: readonly string[], nth: number): Script {
  const chance = new Chance(Math.imul(seed + 1, 31) + Math.imul(Number(id.slice(1)) + 1, 7919) + nth * 104_729)
  if (nth >= LOUD || ports.length === 0) return { ports: [], end: chance.happens(0.1) ? 'throws' : 'nothing' }
  const emissions = chance.pick([0, 1, 1, 1, 1, 2, 3])
  const some = () => {
    const kept = ports.filter(() => chance.happens(0.7))
    return kept.length > 0 ? kept : [chance.pick(ports)]
  }
  return {
    ports: Array.from({ length: emissions }, some),
    end: chance.happens(0.8)
      ? emissions > 0 && chance.happens(0.8)
        ? 'returns'
        : 'nothing'
      : chance.pick(['throws', 'undeclared', 'refused'] as const),
  }
}

/** The outputs of an emission: each port says which node emitted it, in which execution, as which emission of it. */
export function outputsOf(script: Script, id: string, nth: number, emission: number): Record<string, unknown> {
  return Object.fromEntries(script.ports[emission]!.map(port => [port, `${id}.${nth}.${emission}`]))
}

/** What a script ends with: throws, or answers what the body answers. */
export function endOf(script: Script, id: string, ports: readonly string[], nth: number): object | undefined {
  switch (script.end) {
    case 'returns':
      return outputsOf(script, id, nth, script.ports.length - 1)
    case 'nothing':
      return undefined
    case 'throws':
      throw new Error(`${id}.${nth}`)
    case 'undeclared':
      return { nobody_declares_it: 1 }
    case 'refused':
      return Object.fromEntries(ports.map((port, at) => [port, at === ports.length - 1 ? 5 : 'never seen']))
    default:
      return script.end satisfies never
  }
}

/** How many emissions come before the end. */
export const before = (script: Script): number => script.ports.length - (script.end === 'returns' ? 1 : 0)

export const OUTSIDE = ['in0', 'in1', 'in2', 'other.x']

/** All messages that nodes `n0` to `n<count - 1>` may produce. */
export const produced = (count: number): string[] =>
  Array.from({ length: count }, (_, at) => [`m${at}a`, `m${at}b`]).flat()

/**
 * Nodes that change: chains, joins, diamonds, loops, reads without trigger, of a few messages from outside and of each other.
 * Node `n3` produces none, one or both of `m3a` and `m3b`.
 */
export class RandomFlow {
  readonly #chance: Chance
  readonly #count: number
  readonly #body: (node: () => FlowNode) => NodeBody
  readonly #more: () => Partial<FlowNode>
  readonly #nodes = new Map<string, FlowNode>()

  constructor(
    chance: Chance,
    count: number,
    body: (node: () => FlowNode) => NodeBody,
    more: () => Partial<FlowNode> = () => ({}),
  ) {
    this.#chance = chance
    this.#count = count
    this.#body = body
    this.#more = more
    for (let at = 0; at < count; at++) if (chance.happens(0.9)) this.#set(at)
  }

  /** In any order. */
  get nodes(): FlowNode[] {
    return [...this.#nodes.values()]
  }

  /** A node is added, removed or changed; perhaps by its body alone. */
  change(): void {
    const at = this.#chance.below(this.#count)
    const known = this.#nodes.get(`n${at}`)
    if (known === undefined) this.#set(at)
    else if (this.#chance.happens(0.3)) this.#nodes.delete(known.id)
    else if (this.#chance.happens(0.5)) this.#set(at)
    else this.#write(known.id, known.ports, known)
  }

  #set(at: number): void {
    const chance = this.#chance
    const messages = [...OUTSIDE, ...OUTSIDE, ...produced(this.#count)]
    const reads = new Set<string>()
    for (let left = chance.pick([1, 1, 2, 2, 3]); left > 0; left--) reads.add(chance.pick(messages))
    const words = [...reads].map((message, place) => (place > 0 && chance.happens(0.3) ? `!${message}` : message))
    const makes = [`m${at}a`, `m${at}b`].filter(() => chance.happens(0.75))
    const { ports } = node(`n${at}`, words.join(' '), makes.join(' '), () => undefined, { dtype: 'str' })
    this.#write(`n${at}`, ports, this.#more())
  }

  /** Gives it a body of its own. */
  #write(id: string, ports: FlowNode['ports'], more: Partial<FlowNode>): void {
    let written: FlowNode
    const { source } = node(
      id,
      '',
      '',
      this.#body(() => written),
    )
    written = { ...more, id, type: 'code', source, ports }
    this.#nodes.set(id, written)
  }
}
