import type { ErrorCode } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import { FlowDocument, type NormalDocument, type NormalNode } from '../../protocol/nouns/flow-document.ts'
import type { Issue } from '../../protocol/nouns/issue.ts'
import { describe, place } from '../../protocol/values/describe.ts'
import { agrees, type Dtype } from '../../protocol/values/dtype.ts'
import { createChecker } from '../../protocol/values/explain.ts'
import { Budget, type Refusal, refuseUnlessJson } from '../../protocol/values/json-like.ts'
import { finish, type Steps } from '../steps.ts'
import { refuseEnvironment } from './environment.ts'
import type { World } from './facts.ts'
import { issuesOf } from './issues.ts'
import { normalize } from './normalize.ts'
import { Refusals } from './refusals.ts'
import { dropRepeated, type FlavorLookUp, flavorConflicts, refuseCards, refuseRam } from './resources.ts'

/** The checks of one node type. */
export interface NodeType {
  /** Adds what it refuses; returns the body to run, or null for a type without one. Called with the shape of the node checked. */
  check(node: NormalNode, refuse: RefuseAt): Body | null
}
export type NodeTypes = Readonly<Record<string, NodeType>>

/** `loc` is within the node: `settings.cron`, `source:3:14`. */
export type RefuseAt = (code: ErrorCode, loc: string, msg: string) => void

/** A node's body as it runs: types stripped, positions kept. */
export interface Body {
  code: string
  /** SHA-256 of the code, hex. */
  digest: string
}

/** Facts that the check gets from outside. */
export interface Rules {
  types: NodeTypes
  /** Does the asynchronous work of the types before they check; throws when it fails. */
  prepare?(nodes: readonly NormalNode[]): Steps<void>
  /** May a message of the dtype carry the value? */
  fits(value: unknown, dtype: Dtype): Refusal | null
  /** A stored flavor. */
  flavor: FlavorLookUp
}

export interface CheckedDocument {
  document: NormalDocument
  issues: Issue[]
  /** By node id; only nodes that have one. */
  bodies: Map<string, Body>
}

const shape = createChecker(FlowDocument)
const node_shape = createChecker(FlowDocument.properties.nodes.items)

/**
 * Document in, checked document out; all refusals are thrown together, as one `ServiceError` that names each place.
 *
 *   shape -> names and producers -> wiring -> each node by its type
 *
 * Doubtful things, such as a message of a flow that does not exist yet, are returned as issues.
 */
export const checkDocument = (name: string, raw: unknown, world: World, rules: Rules): CheckedDocument =>
  finish(checkSteps(name, raw, world, { ...rules, prepare: undefined }))

/** The same in steps, of a node each where that counts. */
export function* checkSteps(
  name: string,
  raw: unknown,
  world: World,
  rules: Omit<Rules, 'prepare'> & { prepare?: Rules['prepare'] | undefined },
): Steps<CheckedDocument> {
  const refusals = new Refusals()
  yield* checkShape(raw, refusals)
  refusals.throwIfAny()

  const document = normalize(raw as FlowDocument, name)
  yield
  yield* checkFreeValues(document, refusals)
  refusals.throwIfAny()

  checkNames(document, refusals)
  yield
  const dtypes = checkProducers(document, refusals)
  yield
  checkWiring(name, document, dtypes, world, refusals)
  yield
  checkDefaults(document, rules, refusals)
  if (rules.prepare) yield* rules.prepare(document.nodes)
  const bodies = yield* checkNodes(document, rules, refusals)
  refusals.throwIfAny()
  return { document, issues: issuesOf(name, document, world), bodies }
}

/** Node by node, unless what is around them is wrong. */
function* checkShape(raw: unknown, refusals: Refusals): Steps<void> {
  const nodes = (raw as { nodes?: unknown } | null | undefined)?.nodes
  const list = Array.isArray(nodes) && nodes.length <= limits.FLOW_NODES ? nodes : null
  for (const { loc, msg } of shape.refusals(list === null ? raw : { ...someMembers(raw as object), nodes: [] }))
    refusals.add('validation', loc, msg)
  let places = 0
  for (const [index, node] of (list ?? []).entries()) {
    for (const { loc, msg } of node_shape.refusals(node, `nodes[${index}]`)) {
      refusals.add('validation', loc, msg)
      if (++places >= limits.ERROR_PLACES) return
    }
    yield
  }
}

const KNOWN = new Set(Object.keys(FlowDocument.properties))

/** The members that a document may have, and of the others as many as one answer names: one may have 20,000. */
function someMembers(raw: object): Record<string, unknown> {
  const some: Record<string, unknown> = {}
  let unknown = 0
  for (const key in raw) {
    if (!KNOWN.has(key) && ++unknown > limits.ERROR_PLACES) continue
    Object.defineProperty(some, key, { value: (raw as Record<string, unknown>)[key], enumerable: true })
  }
  return some
}

/** Settings and defaults may hold anything that JSON can carry, within a depth and a size. */
function* checkFreeValues(document: NormalDocument, refusals: Refusals): Steps<void> {
  for (const [index, node] of document.nodes.entries()) {
    yield
    const refusal = refuseUnlessJson(node.settings, new Budget(limits.SETTINGS_BYTES))
    if (refusal) refusals.add('bad_settings', `nodes[${index}].settings`, `node "${node.id}": ${refusal.text}`)
    // The shape lets a variable of any name pass.
    for (const { name, text } of refuseEnvironment(node.resources.env)) {
      const at = `nodes[${index}].resources.env`
      refusals.add('bad_resources', name === null ? at : place(at, name), `node "${node.id}": ${text}`)
    }
  }
  document.inputs.forEach((input, index) => {
    if (input.default === undefined) return
    const refusal = refuseUnlessJson(input.default, new Budget(limits.MESSAGE_VALUE_BYTES))
    if (refusal) refusals.add(refusal.code, `inputs[${index}].default`, refusal.text)
  })
}

function checkNames(document: NormalDocument, refusals: Refusals): void {
  const ids = new Map<string, number>()
  document.nodes.forEach((node, index) => {
    const first = ids.get(node.id)
    if (first === undefined) ids.set(node.id, index)
    else refusals.add('duplicate_name', `nodes[${index}].id`, `"${node.id}" is the id of nodes[${first}] already`)
    for (const side of ['inputs', 'outputs'] as const) {
      const names = new Set<string>()
      node.ports[side].forEach((port, at) => {
        if (names.has(port.name))
          refusals.add(
            'duplicate_name',
            `nodes[${index}].ports.${side}[${at}].name`,
            `node "${node.id}" has another ${side === 'inputs' ? 'input' : 'output'} port "${port.name}"`,
          )
        names.add(port.name)
      })
    }
  })
}

interface Producer {
  dtype: Dtype
  /** For sentences: `node "a"`, `the flow's inputs`. */
  by: string
}

/** Each message is produced once: by one output port, or from outside. */
function checkProducers(document: NormalDocument, refusals: Refusals): Map<string, Producer> {
  const producers = new Map<string, Producer>()
  document.inputs.forEach((input, index) => {
    if (producers.has(input.message))
      refusals.add('duplicate_name', `inputs[${index}].message`, `"${input.message}" is a flow input already`)
    else producers.set(input.message, { dtype: input.dtype, by: "the flow's inputs" })
  })
  document.nodes.forEach((node, index) => {
    node.ports.outputs.forEach((port, at) => {
      // A port name used twice is refused as such; its message is not a second fault.
      if (node.ports.outputs.findIndex(other => other.name === port.name) !== at) return
      const first = producers.get(port.message)
      if (first === undefined) producers.set(port.message, { dtype: port.dtype, by: `node "${node.id}"` })
      else
        refusals.add(
          'second_producer',
          `nodes[${index}].ports.outputs[${at}].message`,
          `"${port.message}" is produced by ${first.by} already`,
        )
    })
  })
  return producers
}

/** Both ends of each wire carry the same, as far as the producing end is known. */
function checkWiring(
  flow: string,
  document: NormalDocument,
  producers: ReadonlyMap<string, Producer>,
  world: World,
  refusals: Refusals,
): void {
  document.nodes.forEach((node, index) => {
    node.ports.inputs.forEach((port, at) => {
      const dot = port.message.indexOf('.')
      const owner = dot === -1 ? flow : port.message.slice(0, dot)
      const source =
        dot === -1
          ? producers.get(port.message)?.dtype
          : world.flow(owner)?.messages.get(port.message.slice(dot + 1))?.dtype
      if (source === undefined || agrees(source, port.dtype)) return
      refusals.add(
        'dtype_mismatch',
        `nodes[${index}].ports.inputs[${at}].dtype`,
        `port "${port.name}" of node "${node.id}" expects ${port.dtype}, but "${port.message}" carries ${source}`,
      )
    })
  })
}

function checkDefaults(document: NormalDocument, rules: Omit<Rules, 'prepare'>, refusals: Refusals): void {
  document.inputs.forEach((input, index) => {
    if (input.default === undefined) return
    const refusal = rules.fits(input.default, input.dtype)
    if (refusal) refusals.add(refusal.code, `inputs[${index}].default`, refusal.text)
  })
}

function* checkNodes(
  document: NormalDocument,
  rules: Omit<Rules, 'prepare'>,
  refusals: Refusals,
): Steps<Map<string, Body>> {
  const bodies = new Map<string, Body>()
  for (const [index, node] of document.nodes.entries()) {
    yield
    const at = `nodes[${index}]`
    const type = Object.hasOwn(rules.types, node.type) ? rules.types[node.type] : undefined
    if (type === undefined) {
      const known = Object.keys(rules.types).join(', ')
      refusals.add('unknown_node_type', `${at}.type`, `${describe(node.type)} is no node type; known are ${known}`)
      continue
    }
    checkResources(node, at, rules, refusals)
    const body = type.check(node, (code, loc, msg) => refusals.add(code, `${at}.${loc}`, `node "${node.id}": ${msg}`))
    if (body !== null) bodies.set(node.id, body)
  }
  return bodies
}

/** Node rules 1 and 2: a flavor that is stored, and no other number beside it for the same dimension. */
function checkResources(node: NormalNode, at: string, rules: Omit<Rules, 'prepare'>, refusals: Refusals): void {
  const refuse = (dimension: string, refusal: string | null): void => {
    if (refusal !== null) refusals.add('bad_resources', `${at}.resources.${dimension}`, `node "${node.id}": ${refusal}`)
  }
  refuse('gpus', refuseCards(node.resources.gpus))
  refuse('ram', refuseRam(node.resources.ram))
  const name = node.resources.flavor
  if (name === null) return
  const flavor = rules.flavor(name)
  if (flavor === null) {
    refusals.add('unknown_flavor', `${at}.resources.flavor`, `node "${node.id}": there is no flavor "${name}"`)
    return
  }
  const conflicts = flavorConflicts(node, flavor)
  for (const { place, dimension, flavor: given, node: own } of conflicts)
    refusals.add(
      'flavor_conflict',
      `${at}.${place}`,
      `node "${node.id}" asks for ${own} of ${dimension}, and its flavor "${name}" gives ${given}`,
    )
  if (conflicts.length === 0) dropRepeated(node, flavor)
}
