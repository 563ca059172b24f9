import { isName, MESSAGE_REFERENCE_PATTERN, NAME_PATTERN } from '../../protocol/names.ts'
import { type AnyNode, checkSettings, isNode, type Node, naming } from './node.ts'
import { SdkError } from './sdk-error.ts'

/** One place of a node in a flow. */
export interface Use {
  readonly node: AnyNode
  /** As given here; else the node's own, else the name of its export. */
  readonly id: string | undefined
  /** Port name -> message. */
  readonly wire: Readonly<Record<string, string>>
  /** In place of the node's defaults. */
  readonly settings: Readonly<Record<string, unknown>>
}

/** `id` and `wire`; every other key is a setting of the node. */
export type UseOptions<I, O, S> = {
  readonly id?: string
  /** Messages in place of the ports' own, by port: `m` of this flow, or, to read, `f.m` of another one. */
  readonly wire?: { readonly [Port in keyof I | keyof O]?: string }
} & { readonly [Setting in Exclude<keyof S, 'id' | 'wire'>]?: S[Setting] }

const REFERENCE = new RegExp(MESSAGE_REFERENCE_PATTERN)
const NAME = new RegExp(NAME_PATTERN)

/** A node in a flow, under an id, with messages and settings of its own. Throws an SdkError. */
export function use<I, O, S, E>(node: Node<I, O, S, E>, options: UseOptions<I, O, S> = {} as never): Use {
  if (!isNode(node)) throw new SdkError('What "use" is given is not made by "node(options, body)".')
  const { id, wire = {}, ...settings } = options as { id?: string; wire?: Record<string, string> }
  const what = naming({ id: id ?? node.definition.id })
  if (id !== undefined && !isName(id)) throw new SdkError(`"${id}" is no name of a node.`)
  checkWire(what, node.definition, wire)
  const strange = Object.keys(settings).find(key => !Object.hasOwn(node.definition.settings, key))
  if (strange !== undefined)
    throw new SdkError(`${what} has no setting "${strange}". ${listed('setting', node.definition.settings)}`)
  checkSettings(what, settings)
  return Object.freeze({ node, id, wire: { ...wire }, settings })
}

function checkWire(what: string, { inputs, outputs }: AnyNode['definition'], wire: Record<string, string>): void {
  for (const [port, message] of Object.entries(wire)) {
    const isOutput = Object.hasOwn(outputs, port)
    if (!isOutput && !Object.hasOwn(inputs, port))
      throw new SdkError(`${what} has no port "${port}" to wire. ${listed('port', { ...inputs, ...outputs })}`)
    if (!(isOutput ? NAME : REFERENCE).test(message))
      throw new SdkError(`${what} wires "${port}" to ${JSON.stringify(message)}, which is no name of a message.`)
  }
}

function listed(noun: string, named: object): string {
  const names = Object.keys(named)
  return names.length === 0 ? `It has no ${noun}s.` : `Its ${noun}s are ${names.join(', ')}.`
}
