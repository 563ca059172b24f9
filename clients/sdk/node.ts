import { limits } from '../../protocol/limits.ts'
import { isName } from '../../protocol/names.ts'
import type { Resources } from '../../protocol/nouns/flow-document.ts'
import { Budget, refuseUnlessJson } from '../../protocol/values/json-like.ts'
import type { Context } from './context.ts'
import { checkPorts, type InputPorts, type InputValues, type OutputPorts, type OutputValues } from './ports.ts'
import { SdkError } from './sdk-error.ts'

/** Marks nodes and flows for whoever meets them without having loaded this very copy of the SDK; the value is the form's version. */
export const NODE_MARK: unique symbol = Symbol.for('flow-engine.node') as never

/** What a node is besides its body; whatever is left out has the default that docs/flow-document.md names. */
export interface NodeOptions<I, O, S> {
  /** The name under which the node is exported when not given. */
  readonly id?: string
  readonly inputs?: I
  readonly outputs?: O
  /** The defaults; they give `ctx.settings` its type. */
  readonly settings?: S
  readonly resources?: Resources
  /** Expected seconds of an execution; a figure to show, no limit. */
  readonly duration_s?: number
  /** Seconds. */
  readonly timeout?: number
  /** False: the stage cache leaves the node out. */
  readonly cache?: boolean
  readonly device?: string
  readonly isolation?: 'process'
}

/** How a body gives its outputs: it decides what a frame of the body looks like while it runs. */
export type BodyShape = 'function' | 'generator' | 'async generator'

export interface NodeDefinition<I = InputPorts, O = OutputPorts, S = Record<string, unknown>>
  extends NodeOptions<I, O, S> {
  readonly inputs: I
  readonly outputs: O
  readonly settings: S
  readonly shape: BodyShape
}

/** Any node, whatever its ports. */
export interface AnyNode {
  readonly definition: NodeDefinition
  readonly [NODE_MARK]: 1
}

/** A node is its body: it can be called like the function that it was made of. */
export interface Node<I, O, S, E> extends AnyNode {
  (inputs: InputValues<I>, ctx: Context<S, O>): Answer<E>
  readonly definition: NodeDefinition<I & InputPorts, O & OutputPorts, S & Record<string, unknown>>
}

// biome-ignore lint/suspicious/noConfusingVoidType: a body that returns nothing is one whose return type is void
type Emission<E> = E | void

/** What a body may answer: an emission, a promise of one, or a generator of them; nothing publishes nothing. */
export type Answer<E> =
  | Emission<E>
  | Promise<Emission<E>>
  | Generator<Emission<E>, Emission<E>, unknown>
  | AsyncGenerator<Emission<E>, Emission<E>, unknown>

/** Keys of an emission that no output port declares, each with a type that says so. */
export type Undeclared<E, O> = { readonly [K in Exclude<keyof E, keyof O>]: `no output port is called ${K & string}` }

type None = Record<never, never>

const OPTIONS = [
  'id',
  'inputs',
  'outputs',
  'settings',
  'resources',
  'duration_s',
  'timeout',
  'cache',
  'device',
  'isolation',
]
/** They stand beside the settings in `use`. */
const NO_SETTINGS = ['id', 'wire']

const SHAPES: Readonly<Record<string, BodyShape>> = {
  '[object GeneratorFunction]': 'generator',
  '[object AsyncGeneratorFunction]': 'async generator',
}

/**
 * Declares a node: its ports, and the function that is its body. The types of the body's inputs, its settings and its answer
 * follow from the ports, so that a wrong key does not compile. Throws an SdkError.
 */
export function node<
  const I extends InputPorts = None,
  const O extends OutputPorts = None,
  S extends Record<string, unknown> = None,
  E extends OutputValues<O> & Undeclared<E, O> = None,
>(options: NodeOptions<I, O, S>, body: (inputs: InputValues<I>, ctx: Context<S, O>) => Answer<E>): Node<I, O, S, E> {
  const definition = definitionOf(options, body)
  const call = (inputs: InputValues<I>, ctx: Context<S, O>): Answer<E> => body(inputs, ctx)
  return Object.assign(call, { definition, [NODE_MARK]: 1 as const }) as Node<I, O, S, E>
}

export const isNode = (value: unknown): value is AnyNode =>
  typeof value === 'function' && (value as Partial<AnyNode>)[NODE_MARK] === 1

/** For sentences about a node that may have no name yet. */
export const naming = (definition: { readonly id?: string | undefined }): string =>
  definition.id === undefined ? 'a node' : `node "${definition.id}"`

function definitionOf<I, O, S>(options: NodeOptions<I, O, S>, body: unknown): NodeDefinition<I, O, S> {
  const what = naming(options)
  if (typeof body !== 'function') throw new SdkError(`The body of ${what} is ${typeof body}, not a function.`)
  const strange = Object.keys(options).find(key => !OPTIONS.includes(key))
  if (strange !== undefined) throw new SdkError(`${what} says "${strange}"; a node takes ${OPTIONS.join(', ')}.`)
  if (options.id !== undefined && !isName(options.id)) throw new SdkError(`"${options.id}" is no name of a node.`)
  const { inputs = {} as I, outputs = {} as O, settings = {} as S } = options
  checkPorts(what, inputs as InputPorts, outputs as OutputPorts)
  checkSettings(what, settings as Record<string, unknown>)
  const taken = NO_SETTINGS.find(key => Object.hasOwn(settings as object, key))
  if (taken !== undefined)
    throw new SdkError(`A setting of ${what} is called "${taken}", which "use" takes for itself.`)
  const shape = SHAPES[Object.prototype.toString.call(body)] ?? 'function'
  return Object.freeze({ ...options, inputs, outputs, settings, shape })
}

/** Settings are kept as JSON. Throws an SdkError. */
export function checkSettings(what: string, settings: Record<string, unknown>): void {
  const refusal = refuseUnlessJson(settings, new Budget(limits.SETTINGS_BYTES))
  if (refusal !== null) throw new SdkError(`The settings of ${what}: ${refusal.text}.`)
}
