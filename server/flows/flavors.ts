import { flavorConflicts, ramMb, refuseRam } from '../../core/flow/resources.ts'
import { type ErrorPlace, ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import { isName } from '../../protocol/names.ts'
import type { EventType } from '../../protocol/nouns/event.ts'
import type { Flavor, PutFlavor } from '../../protocol/nouns/flavor.ts'
import type { NormalDocument } from '../../protocol/nouns/flow-document.ts'
import type { List, Page } from '../../protocol/nouns/list.ts'

export interface Flavors {
  list(page: Page): List<Flavor>
  /** Creates or replaces. */
  put(name: string, flavor: PutFlavor, by: string): Promise<Flavor>
  /** 409 `flavor_in_use`, naming the node, while one asks for it. */
  remove(name: string, by: string): Promise<void>
}

export interface LiveFlavorsParts {
  /** What a start found. */
  readonly stored: readonly Flavor[]
  readonly store: { put(flavor: Flavor): Promise<Flavor>; delete(name: string): Promise<boolean> }
  readonly flows: {
    all(): Iterable<{ readonly name: string; readonly document: NormalDocument }>
    /** One change at a time, saves of flows among them. */
    inTurn<Result>(change: () => Promise<Result>): Promise<Result>
  }
  announce(type: EventType, flow: null, more: Record<string, unknown>): void
}

/** Nodes that a refusal names. */
const NODES_NAMED = 20

/** The flavors, in memory over the store: nodes are checked against them on save, and ask for them each time they are built. */
export class LiveFlavors implements Flavors {
  readonly #parts: LiveFlavorsParts
  readonly #flavors: Map<string, Flavor>

  constructor(parts: LiveFlavorsParts) {
    this.#parts = parts
    this.#flavors = new Map(parts.stored.map(flavor => [flavor.name, flavor]))
  }

  find(name: string): Flavor | null {
    return this.#flavors.get(name) ?? null
  }

  list({ limit, offset }: Page): List<Flavor> {
    const all = [...this.#flavors.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
    return { items: all.slice(offset, offset + limit), count: all.length }
  }

  /**
   * Nodes that ask for it get the new numbers from their next call on; a flow is not saved again for it. In turn with the saves of flows,
   * so that none is checked against a flavor that changes meanwhile (Node rule 1).
   */
  async put(name: string, { cpus, gpus, ram, duration_s }: PutFlavor, by: string): Promise<Flavor> {
    const refusal = refuseRam(ram ?? null)
    if (refusal !== null)
      throw new ServiceError('bad_resources', `ram: ${refusal}.`, { errors: [{ loc: 'body.ram', msg: refusal }] })
    if (!isName(name))
      throw new ServiceError('validation', `"${name}" is not a valid flavor name.`, {
        errors: [{ loc: 'path.name', msg: 'is not a valid flavor name' }],
      })
    const flavor = {
      name,
      cpus: cpus ?? null,
      gpus: gpus ?? null,
      ram: ramMb(ram ?? null),
      duration_s: duration_s ?? null,
    }
    return this.#parts.flows.inTurn(async () => {
      this.#refuseConflicts(flavor)
      const stored = await this.#parts.store.put(flavor)
      this.#flavors.set(name, stored)
      this.#parts.announce('flavor_changed', null, { flavor: stored, name, action: 'saved', by })
      return stored
    })
  }

  #refuseConflicts(flavor: Flavor): void {
    const errors: ErrorPlace[] = []
    const nodes: string[] = []
    for (const { name: flow, document } of this.#parts.flows.all()) {
      for (const node of document.nodes) {
        if (node.resources.flavor !== flavor.name) continue
        const [conflict] = flavorConflicts(node, flavor)
        if (conflict === undefined) continue
        const { dimension, node: own, flavor: given } = conflict
        nodes.push(`"${flow}.${node.id}" (${dimension}: ${own})`)
        errors.push({ loc: `body.${dimension}`, msg: `is ${given}; node "${flow}.${node.id}" asks for ${own} itself` })
      }
    }
    if (nodes.length === 0) return
    const more = nodes.length <= NODES_NAMED ? '' : `, and ${nodes.length - NODES_NAMED} more`
    const named = `${nodes.sort().slice(0, NODES_NAMED).join(', ')}${more}`
    const text = `Nodes that ask for the flavor "${flavor.name}" give other numbers themselves: ${named}.`
    throw new ServiceError('flavor_conflict', text, { errors: errors.slice(0, limits.ERROR_PLACES) })
  }

  /** In turn with the saves of flows, so that none is checked against a flavor that goes meanwhile (Node rule 3). */
  remove(name: string, by: string): Promise<void> {
    return this.#parts.flows.inTurn(async () => {
      if (!this.#flavors.has(name)) throw new ServiceError('flavor_not_found', `There is no flavor "${name}".`)
      const [first, ...more] = this.#askedForBy(name)
      if (first !== undefined) {
        const others = more.length === 0 ? '' : `, and ${more.length} more nodes do`
        throw new ServiceError('flavor_in_use', `Node "${first}" asks for the flavor "${name}"${others}.`)
      }
      await this.#parts.store.delete(name)
      this.#flavors.delete(name)
      this.#parts.announce('flavor_changed', null, { flavor: null, name, action: 'deleted', by })
    })
  }

  #askedForBy(name: string): string[] {
    const nodes: string[] = []
    for (const { name: flow, document } of this.#parts.flows.all())
      for (const node of document.nodes) if (node.resources.flavor === name) nodes.push(`${flow}.${node.id}`)
    return nodes.sort()
  }
}
