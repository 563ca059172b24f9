import type { FlowDocument, FlowNode } from '../../../../protocol/nouns/flow-document.ts'

/** What a flow's document says about its drawing: boxes with ports, and wires between them. Nothing of React or the page. */

export interface Port {
  readonly name: string
  readonly dtype: string
  /** Qualified, `flow.message`. */
  readonly message: string
  /** Of an input: does a value wake the node? */
  readonly wakes: boolean
}
export interface Box {
  readonly id: string
  /** `input`: a message that is published from outside; `far`: one that another flow publishes. */
  readonly kind: 'node' | 'input' | 'far'
  readonly type: string
  readonly inputs: readonly Port[]
  readonly outputs: readonly Port[]
  readonly position: { readonly x: number; readonly y: number } | null
}
export interface Wire {
  readonly id: string
  readonly from: string
  readonly from_port: string
  readonly to: string
  readonly to_port: string
  readonly message: string
}
export interface Graph {
  readonly boxes: readonly Box[]
  readonly wires: readonly Wire[]
}

const HEAD_PX = 36
const PORT_PX = 20
const CHIP_PX = 24
export const BOX_PX = 172

/** By the side with more ports (SPEC, Node rule 10). */
export const heightOf = ({ kind, inputs, outputs }: Pick<Box, 'kind' | 'inputs' | 'outputs'>): number =>
  kind === 'node' ? HEAD_PX + PORT_PX * Math.max(1, inputs.length, outputs.length) : CHIP_PX

const qualified = (flow: string, message: string): string => (message.includes('.') ? message : `${flow}.${message}`)

/** The id of what stands for a message that no node of this flow publishes. Not an id that a node can have. */
const sourceId = (message: string): string => `from ${message}`

export function graphOf(flow: string, document: FlowDocument): Graph {
  const boxes: Box[] = document.nodes.map(node => boxOf(flow, node))
  const makers = new Map<string, { box: string; port: string }[]>()
  for (const { id, outputs } of boxes)
    for (const { name, message } of outputs)
      makers.set(message, [...(makers.get(message) ?? []), { box: id, port: name }])
  const dtypes = new Map((document.inputs ?? []).map(({ message, dtype }) => [`${flow}.${message}`, dtype as string]))
  const sources = new Map<string, Box>()
  for (const message of dtypes.keys())
    if (!makers.has(message)) sources.set(message, sourceBox(flow, message, dtypes.get(message)!))
  const wires: Wire[] = []
  for (const { id, inputs } of boxes)
    for (const { name, message, dtype } of inputs) {
      let from = makers.get(message)
      if (from === undefined) {
        if (!sources.has(message)) sources.set(message, sourceBox(flow, message, dtype))
        from = [{ box: sourceId(message), port: message }]
      }
      for (const { box, port } of from)
        wires.push({ id: `${box} ${port} ${id} ${name}`, from: box, from_port: port, to: id, to_port: name, message })
    }
  return { boxes: [...sources.values(), ...boxes], wires }
}

function boxOf(flow: string, { id, type, ports, position }: FlowNode): Box {
  return {
    ...{ id, kind: 'node', type, position: position ?? null },
    inputs: (ports.inputs ?? []).map(({ name, dtype, message, trigger = true }) => ({
      ...{ name, dtype, wakes: trigger, message: qualified(flow, message ?? name) },
    })),
    outputs: (ports.outputs ?? []).map(({ name, dtype, message }) => ({
      ...{ name, dtype, wakes: true, message: qualified(flow, message ?? name) },
    })),
  }
}

function sourceBox(flow: string, message: string, dtype: string): Box {
  const isFar = !message.startsWith(`${flow}.`)
  const kind = isFar ? 'far' : 'input'
  const outputs = [{ name: message, dtype, message, wakes: true }]
  return { id: sourceId(message), kind, type: kind, inputs: [], outputs, position: null }
}
