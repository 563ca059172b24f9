import { ServiceError } from '../../protocol/errors.ts'
import type { Flavor } from '../../protocol/nouns/flavor.ts'
import type { NormalNode } from '../../protocol/nouns/flow-document.ts'
import type { ResourceAmounts } from '../../protocol/nouns/run.ts'

/** The resources that a node declares, itself or by a flavor. */

type Declared = Pick<NormalNode, 'resources' | 'duration_s'>
/** A stored flavor as it is now; null: there is none of that name. */
export type FlavorLookUp = (name: string) => Flavor | null

/** Of a node that declares none of them. */
export const NO_AMOUNTS: ResourceAmounts = { cpus: null, gpus: null, ram_mb: null, flavor: null }

const RAM = /^\d+(\.\d+)?[KMGT]?$/
const RAM_MB_MAX = 1e9

/** MB from `2048`, `"2048"`, `"512M"` or `"2G"`; null stays null. */
export function ramMb(ram: number | string | null): number | null {
  if (ram === null || typeof ram === 'number') return ram
  const unit = ram.charAt(ram.length - 1)
  const factor = { K: 1 / 1024, M: 1, G: 1024, T: 1024 * 1024 }[unit]
  return factor === undefined ? Number(ram) : Number(ram.slice(0, -1)) * factor
}

/** Why this is not an amount of memory; null when it is one. */
export function refuseRam(ram: number | string | null): string | null {
  if (typeof ram === 'string' && !RAM.test(ram)) return `${JSON.stringify(ram)} is no amount such as 512M or 2G`
  const mb = ramMb(ram)
  if (mb !== null && !(mb > 0 && mb <= RAM_MB_MAX)) return `${ram} is not above 0 and at most ${RAM_MB_MAX} MB`
  return null
}

/** Why this is not a number of cards; null when it is one. A card belongs to one node at a time, so parts of a card are refused. */
export function refuseCards(gpus: number | null): string | null {
  if (gpus === null || Number.isInteger(gpus)) return null
  return `${gpus} is not a whole number of cards; a node holds a card alone, so ask for ${Math.ceil(gpus)}`
}

export interface FlavorConflict {
  /** Where in the node: `resources.cpus`. */
  readonly place: string
  readonly dimension: string
  readonly flavor: number
  readonly node: number
}

/** Where a flavor and the node itself give different numbers for the same dimension (Node rule 1). Equal ones say the same. */
export function flavorConflicts(node: Declared, flavor: Flavor): FlavorConflict[] {
  return dimensionsOf(node, flavor).filter(
    (one): one is FlavorConflict => one.flavor !== null && one.node !== null && one.flavor !== one.node,
  )
}

/**
 * A number that only repeats its flavor is taken out of the node: it would become a conflict as soon as somebody edits the
 * flavor. Changes the node that it is given.
 */
export function dropRepeated(node: Declared, flavor: Flavor): void {
  if (flavor.cpus !== null) node.resources.cpus = null
  if (flavor.gpus !== null) node.resources.gpus = null
  if (flavor.ram !== null) node.resources.ram = null
  if (flavor.duration_s !== null) node.duration_s = null
}

function dimensionsOf({ resources, duration_s }: Declared, flavor: Flavor) {
  return [
    { place: 'resources.cpus', dimension: 'cpus', flavor: flavor.cpus, node: resources.cpus },
    { place: 'resources.gpus', dimension: 'gpus', flavor: flavor.gpus, node: resources.gpus },
    { place: 'resources.ram', dimension: 'ram', flavor: flavor.ram, node: ramMb(resources.ram) },
    { place: 'duration_s', dimension: 'duration_s', flavor: flavor.duration_s, node: duration_s },
  ]
}

/**
 * What a node asks for, its flavor read as it is now (Node rule 4). Null: it declares nothing and is not accounted for. Throws
 * `unknown_flavor` when the flavor is gone, which a run of an old version of its flow may meet.
 */
export function askedBy({ resources }: Pick<NormalNode, 'resources'>, flavorOf: FlavorLookUp): ResourceAmounts | null {
  const flavor = existing(resources.flavor, flavorOf)
  const asked = {
    cpus: flavor?.cpus ?? resources.cpus,
    gpus: flavor?.gpus ?? resources.gpus,
    ram_mb: flavor?.ram ?? ramMb(resources.ram),
    flavor: resources.flavor,
  }
  const declares = asked.cpus !== null || asked.gpus !== null || asked.ram_mb !== null || flavor !== null
  return declares ? asked : null
}

/** Seconds that a node is expected to take, from the node or its flavor; null: not declared. */
export function expectedSeconds(node: Declared, flavorOf: FlavorLookUp): number | null {
  const { flavor } = node.resources
  return (flavor === null ? null : flavorOf(flavor)?.duration_s) ?? node.duration_s
}

function existing(name: string | null, flavorOf: FlavorLookUp): Flavor | null {
  if (name === null) return null
  const flavor = flavorOf(name)
  if (flavor === null) throw new ServiceError('unknown_flavor', `There is no flavor "${name}".`)
  return flavor
}
