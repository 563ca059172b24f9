import type { ErrorPlace } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import type { NormalDocument, NormalNode } from '../../protocol/nouns/flow-document.ts'
import { describe, place } from '../../protocol/values/describe.ts'
import type { Dtype } from '../../protocol/values/dtype.ts'

/**
 * The inputs of a run, and its results. Messages are named within the flow, those of other flows as `flow.message`.
 */

/** A message that a run of the flow must be given. */
export interface RunInput {
  name: string
  dtype: Dtype
  /** Absent when it has none. */
  default?: unknown
}

/** The dtype of another flow's message (qualified); null while nobody declares it. */
export type WorldDtype = (message: string) => Dtype | null

/** Does the node get its values from outside of the engine, so that it gives none in a run? */
export type IsSource = (node: NormalNode) => boolean

/**
 * The inputs of a flow: those that it declares, then the messages that its nodes read and none of its nodes produces, as
 * the document names them first. What a source produces counts as if nobody did: a run is given it. A message that nobody declares has the
 * dtype of the first port that reads it.
 */
export function inputsOf(document: NormalDocument, worldDtype: WorldDtype, isSource: IsSource): RunInput[] {
  const produced = producedBy(document.nodes.filter(node => !isSource(node)))
  const dtypes = new Map(document.nodes.flatMap(node => node.ports.outputs.map(port => [port.message, port.dtype])))
  const inputs = new Map<string, RunInput>()
  for (const { message, dtype, ...rest } of document.inputs) inputs.set(message, { name: message, dtype, ...rest })
  for (const node of document.nodes)
    for (const { message, dtype } of node.ports.inputs)
      if (!produced.has(message) && !inputs.has(message))
        inputs.set(message, {
          name: message,
          dtype: (message.includes('.') ? worldDtype(message) : dtypes.get(message)) ?? dtype,
        })
  return [...inputs.values()]
}

/** The messages that the flow produces and none of its nodes reads, in document order. */
export function terminalOf(document: NormalDocument): string[] {
  const read = new Set(document.nodes.flatMap(node => node.ports.inputs.map(port => port.message)))
  return [...producedBy(document.nodes)].filter(message => !read.has(message))
}

const producedBy = (nodes: readonly NormalNode[]): Set<string> =>
  new Set(nodes.flatMap(node => node.ports.outputs.map(port => port.message)))

/** Why a message of the dtype cannot carry the value, as a sentence without a full stop; null when it can. */
export type Fits = (value: unknown, dtype: Dtype) => string | null

export interface CheckedInputs {
  /** A value for each input; whole only when there are no errors. */
  resolved: Record<string, unknown>
  /** At `body.inputs.<name>`; at most as many as an answer carries. */
  errors: ErrorPlace[]
}

/**
 * Values for the inputs of a run: the one given, else for an input named `seed` the seed of the run, else the default.
 * `given` is what is left when references were resolved. Without an input named `seed`, a seed is only recorded.
 */
export function checkInputs(
  inputs: readonly RunInput[],
  given: Readonly<Record<string, unknown>>,
  seed: number | null,
  fits: Fits,
): CheckedInputs {
  const resolved: Record<string, unknown> = {}
  const errors: ErrorPlace[] = []
  const refuse = (name: string, msg: string): void => {
    if (errors.length < limits.ERROR_PLACES) errors.push({ loc: placeOf(name), msg })
  }
  const known = new Set(inputs.map(input => input.name))
  for (const name of Object.keys(given))
    if (!known.has(name)) refuse(name, `is not an input of the flow; ${listed([...known])}`)
  for (const input of inputs) {
    const { name } = input
    const seeded = name === 'seed' && seed !== null
    const own = Object.hasOwn(given, name)
    if (own && seeded && given[name] !== seed) {
      refuse(name, `is ${describe(given[name])}, but the seed of the run is ${seed}; give only one of them`)
      continue
    }
    if (!own && !seeded && input.default === undefined) {
      refuse(name, `needs a value: it has no default (${input.dtype})`)
      continue
    }
    const value = own ? given[name] : seeded ? seed : input.default
    const misfit = fits(value, input.dtype)
    if (misfit === null) resolved[name] = value
    else refuse(name, misfit)
  }
  return { resolved, errors }
}

/** Of a request with more inputs that the flow does not have than an answer names: those that it names. Else nothing: see `checkInputs`. */
export function unknownInputs(inputs: readonly RunInput[], given: Readonly<Record<string, unknown>>): ErrorPlace[] {
  const known = new Set(inputs.map(input => input.name))
  const unknown: string[] = []
  for (const name in given) {
    if (!known.has(name)) unknown.push(name)
    if (unknown.length >= limits.ERROR_PLACES) break
  }
  if (unknown.length < limits.ERROR_PLACES) return []
  return unknown.map(name => ({ loc: placeOf(name), msg: `is not an input of the flow; ${listed([...known])}` }))
}

const listed = (names: readonly string[]): string =>
  names.length === 0 ? 'it has none' : `it has ${names.slice(0, 20).join(', ')}${names.length > 20 ? ', ...' : ''}`

export const placeOf = (name: string): string => place('body.inputs', name)
