import { isName } from '../../protocol/names.ts'
import type { FlowInput, NormalDocument, NormalNode } from '../../protocol/nouns/flow-document.ts'
import type { CreateRun } from '../../protocol/nouns/run.ts'
import type { Dtype } from '../../protocol/values/dtype.ts'
import { agrees, DTYPES } from '../../protocol/values/dtypes.ts'
import { type AnyNode, isNode } from './node.ts'
import type { InputSpec, OutputSpec } from './ports.ts'
import { SdkError } from './sdk-error.ts'
import { type Use, use } from './use.ts'

export const FLOW_MARK: unique symbol = Symbol.for('flow-engine.flow') as never

export interface FlowInputSpec {
  /** What its readers take when not given. */
  readonly dtype?: Dtype
  /** What it holds until somebody publishes. */
  readonly default?: unknown
}

export interface FlowOptions {
  /** Of the messages that no node of the flow produces, those that need a default or another dtype. */
  readonly inputs?: Readonly<Record<string, Dtype | FlowInputSpec>>
}

/** A flow that is declared in code; `Flow` makes one. */
export interface ComposedFlow {
  readonly name: string
  readonly uses: readonly Use[]
  /**
   * The flow document with every default filled in, without the sources of the bodies. Nodes without an id are named after
   * their exports in `exported`: `flow.document(await import('./nodes.ts'))`. Changes nothing; throws an SdkError.
   */
  document(...exported: readonly Readonly<Record<string, unknown>>[]): NormalDocument
  /** Starts a batch run of the flow as the engine has it, with cause `sdk`; `client` is what `connect` of the client library answers. */
  run<Created>(client: RunsClient<Created>, request?: Omit<CreateRun, 'cause'>): Promise<Created>
  readonly [FLOW_MARK]: 1
}

/** As much of a client as a flow needs to start runs. */
export interface RunsClient<Created> {
  readonly runs: { create(flow: string, request: CreateRun): Promise<Created> }
}

/**
 * Composes a flow of nodes and uses of nodes. Messages that no node produces are the flow's inputs. Throws an SdkError: an id
 * that stands twice, a message with two producers, ends of a wire that do not agree.
 */
export function Flow(name: string, nodes: readonly (AnyNode | Use)[], { inputs = {} }: FlowOptions = {}): ComposedFlow {
  if (!isName(name)) throw new SdkError(`${JSON.stringify(name)} is no name of a flow.`)
  const uses = nodes.map(each => (isNode(each) ? use(each as never) : (each as Use)))
  if (uses.some(each => !isNode(each?.node)))
    throw new SdkError(`Flow "${name}" holds something that is neither a node nor a use of one.`)
  checkIds(name, uses)
  const wired = uses.map(each => wiredNode(name, each))
  const flowInputs = inputsOf(name, wired, inputs)
  const composed: ComposedFlow = {
    name,
    uses: Object.freeze(uses),
    document: (...exported: readonly Readonly<Record<string, unknown>>[]) => {
      const named = wired.map((each, at) => ({ ...each, id: idOf(name, uses[at]!, exported) }))
      const twice = named.find(({ id }, at) => named.findIndex(other => other.id === id) !== at)
      if (twice !== undefined) throw doubled(name, twice.id)
      return structuredClone({ nodes: named, inputs: flowInputs })
    },
    run: (client, request = {}) => client.runs.create(name, { ...request, cause: 'sdk' }),
    [FLOW_MARK]: 1 as const,
  }
  return Object.freeze(composed)
}

const doubled = (flow: string, id: string): SdkError =>
  new SdkError(`Flow "${flow}" has two nodes "${id}": give one of them another id, with use(node, { id }).`)

/** As far as ids are known before the names of exports are. */
function checkIds(flow: string, uses: readonly Use[]): void {
  const seen = new Set<string | AnyNode>()
  for (const { id, node } of uses) {
    const key = id ?? node.definition.id ?? node
    if (seen.has(key)) throw typeof key === 'string' ? doubled(flow, key) : unnamedTwice(flow)
    seen.add(key)
  }
}

const unnamedTwice = (flow: string): SdkError =>
  new SdkError(`Flow "${flow}" uses the same node twice: give one of them another id, with use(node, { id }).`)

function idOf(flow: string, { id, node }: Use, exported: readonly Readonly<Record<string, unknown>>[]): string {
  const known = id ?? node.definition.id
  if (known !== undefined) return known
  for (const names of exported) {
    const found = Object.keys(names).find(name => names[name] === node && name !== 'default')
    if (found === undefined) continue
    if (isName(found)) return found
    throw new SdkError(`A node of flow "${flow}" is exported as "${found}", which is no name of a node: give it an id.`)
  }
  throw new SdkError(
    `A node of flow "${flow}" has no id (its outputs: ${Object.keys(node.definition.outputs).join(', ') || 'none'}). Give it one, or export it by name.`,
  )
}

/** All of a node of the document but its id and its source. */
function wiredNode(flow: string, { node, wire, settings }: Use): Omit<NormalNode, 'id'> {
  const { definition } = node
  const { resources = {} } = definition
  const messageOf = (port: string, spec: InputSpec | OutputSpec): string => wire[port] ?? spec.message ?? port
  const specs = <Spec extends InputSpec | OutputSpec>(ports: Readonly<Record<string, Dtype | Spec>>) =>
    Object.entries(ports).map(([name, port]): [string, Spec] => [
      name,
      (typeof port === 'string' ? { dtype: port } : port) as Spec,
    ])
  return {
    type: 'code',
    language: 'js',
    source: null,
    settings: { ...definition.settings, ...settings },
    ports: {
      inputs: specs<InputSpec>(definition.inputs).map(([name, spec]) => ({
        name,
        dtype: spec.dtype,
        message: within(flow, messageOf(name, spec)),
        trigger: spec.trigger ?? true,
      })),
      outputs: specs<OutputSpec>(definition.outputs).map(([name, spec]) => ({
        name,
        dtype: spec.dtype,
        message: messageOf(name, spec),
        rate_hz: spec.rate_hz ?? null,
      })),
    },
    resources: {
      cpus: resources.cpus ?? null,
      gpus: resources.gpus ?? null,
      ram: resources.ram ?? null,
      env: resources.env ?? {},
      flavor: resources.flavor ?? null,
    },
    duration_s: definition.duration_s ?? null,
    timeout: definition.timeout ?? null,
    cache: definition.cache ?? true,
    device: definition.device ?? null,
    isolation: definition.isolation ?? null,
    position: { x: 0, y: 0 },
  }
}

/** A message of the flow itself is written without the flow's name. */
const within = (flow: string, message: string): string =>
  message.startsWith(`${flow}.`) ? message.slice(flow.length + 1) : message

interface Reader {
  readonly port: string
  readonly dtype: Dtype
}

function inputsOf(
  flow: string,
  nodes: readonly Omit<NormalNode, 'id'>[],
  declared: NonNullable<FlowOptions['inputs']>,
): FlowInput[] {
  const produced = new Map<string, Dtype>()
  for (const { ports } of nodes)
    for (const { message, dtype } of ports.outputs) {
      if (produced.has(message))
        throw new SdkError(
          `Message "${message}" of flow "${flow}" has two producers: wire one of them to another message, with use(node, { wire }).`,
        )
      produced.set(message, dtype)
    }
  const readers = new Map<string, Reader[]>()
  for (const { ports } of nodes)
    for (const { name, dtype, message } of ports.inputs) {
      const source = produced.get(message)
      if (source !== undefined && !agrees(source, dtype))
        throw new SdkError(`Port "${name}" in flow "${flow}" takes ${dtype}, but "${message}" carries ${source}.`)
      if (source === undefined && !message.includes('.'))
        readers.set(message, [...(readers.get(message) ?? []), { port: name, dtype }])
    }
  for (const message of Object.keys(declared))
    if (!readers.has(message))
      throw new SdkError(
        produced.has(message)
          ? `Input "${message}" of flow "${flow}" is produced by one of its nodes.`
          : `No node of flow "${flow}" reads the input "${message}".`,
      )
  return [...readers].map(([message, ports]) => flowInput(flow, message, ports, declared[message]))
}

function flowInput(
  flow: string,
  message: string,
  readers: readonly Reader[],
  declared: Dtype | FlowInputSpec | undefined,
): FlowInput {
  const spec: FlowInputSpec = typeof declared === 'string' ? { dtype: declared } : (declared ?? {})
  if (spec.dtype !== undefined && !DTYPES.includes(spec.dtype))
    throw new SdkError(`Input "${message}" of flow "${flow}": ${JSON.stringify(spec.dtype)} is no dtype.`)
  const fits = (source: Dtype): boolean => readers.every(({ dtype }) => agrees(source, dtype))
  // The dtype of one of its readers that suits the others too: an int for one that takes int and one that takes float.
  const dtype = spec.dtype ?? readers.find(each => fits(each.dtype))?.dtype
  if (dtype === undefined || !fits(dtype)) {
    const taken = readers.map(each => `"${each.port}" takes ${each.dtype}`).join(', ')
    throw new SdkError(`No value suits every reader of the input "${message}" of flow "${flow}": ${taken}.`)
  }
  return spec.default === undefined ? { message, dtype } : { message, dtype, default: spec.default }
}
