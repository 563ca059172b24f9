import { isName } from '../../protocol/names.ts'
import type { ArtifactReference, Dtype } from '../../protocol/values/dtype.ts'
import { DTYPES } from '../../protocol/values/dtypes.ts'
import { SdkError } from './sdk-error.ts'

/** What a value of each dtype is in TypeScript. */
export interface DtypeValues {
  bool: boolean
  int: number
  float: number
  str: string
  json: unknown
  image: ArtifactReference
  audio: ArtifactReference
  video: ArtifactReference
  artifact: ArtifactReference
}

/** An input port in full; a dtype alone stands for `{ dtype }`. */
export interface InputSpec {
  readonly dtype: Dtype
  /** The message that it reads: `m` of the flow or `f.m` of another one; the port's name when not given. */
  readonly message?: string
  /** Does a publish of the message wake the node? True when not given. */
  readonly trigger?: boolean
}

/** An output port in full; a dtype alone stands for `{ dtype }`. */
export interface OutputSpec {
  readonly dtype: Dtype
  /** The message that it produces; the port's name when not given. */
  readonly message?: string
  /** At most so many values a second. */
  readonly rate_hz?: number
}

export type InputPorts = Readonly<Record<string, Dtype | InputSpec>>
export type OutputPorts = Readonly<Record<string, Dtype | OutputSpec>>

type DtypeOf<Port> = Port extends Dtype ? Port : Port extends { readonly dtype: infer D extends Dtype } ? D : never

/** What a body is given: a value for each input port. */
export type InputValues<I> = { readonly [K in keyof I]: DtypeValues[DtypeOf<I[K]>] }
/** What a body may answer: values for some of the output ports. */
export type OutputValues<O> = { readonly [K in keyof O]?: DtypeValues[DtypeOf<O[K]>] }

const INPUT_KEYS = ['dtype', 'message', 'trigger']
const OUTPUT_KEYS = ['dtype', 'message', 'rate_hz']

/** Throws an SdkError that names the port when types were not looked at. */
export function checkPorts(node: string, inputs: InputPorts, outputs: OutputPorts): void {
  for (const [name, port] of Object.entries(inputs)) checkPort(`Input "${name}" of ${node}`, name, port, INPUT_KEYS)
  for (const [name, port] of Object.entries(outputs)) {
    checkPort(`Output "${name}" of ${node}`, name, port, OUTPUT_KEYS)
    // `wire` could not tell them apart, and a node that reads what it makes wakes itself.
    if (Object.hasOwn(inputs, name))
      throw new SdkError(`"${name}" is an input and an output of ${node}: give the two different names.`)
  }
}

function checkPort(what: string, name: string, port: unknown, keys: readonly string[]): void {
  if (!isName(name)) throw new SdkError(`${what}: "${name}" is no name of a port.`)
  const spec = typeof port === 'string' ? { dtype: port } : port
  if (typeof spec !== 'object' || spec === null)
    throw new SdkError(`${what} is neither a dtype nor an object with one.`)
  const strange = Object.keys(spec).find(key => !keys.includes(key))
  if (strange !== undefined) throw new SdkError(`${what} says "${strange}"; a port takes ${keys.join(', ')}.`)
  const { dtype } = spec as { dtype?: unknown }
  if (!(DTYPES as readonly unknown[]).includes(dtype))
    throw new SdkError(`${what}: ${JSON.stringify(dtype)} is no dtype; those are ${DTYPES.join(', ')}.`)
}
