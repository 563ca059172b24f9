import type {
  FlowDocument,
  FlowNode,
  InputPort,
  NormalDocument,
  NormalInputPort,
  NormalNode,
  NormalOutputPort,
  OutputPort,
} from '../../protocol/nouns/flow-document.ts'

/**
 * Fills in every default of a document whose shape was checked. What comes out is a document again, and normalising it
 * changes nothing, so an editor may write the whole of it back. Given the flow's name, a port that names the flow's own
 * message as `flow.message` is written `message`.
 */
export function normalize(document: FlowDocument, flow?: string): NormalDocument {
  const own = flow === undefined ? null : `${flow}.`
  return {
    nodes: document.nodes.map(node => normalNode(node, own)),
    inputs: (document.inputs ?? []).map(input =>
      input.default === undefined
        ? { message: input.message, dtype: input.dtype }
        : { message: input.message, dtype: input.dtype, default: input.default },
    ),
    ...(document.on_restart === 'latest' ? { on_restart: 'latest' as const } : {}),
  }
}

function normalNode(node: FlowNode, own: string | null): NormalNode {
  const resources = node.resources ?? {}
  return {
    id: node.id,
    type: node.type,
    language: node.language ?? 'ts',
    source: node.source ?? null,
    settings: node.settings ?? {},
    ports: {
      inputs: (node.ports.inputs ?? []).map(port => normalInput(port, own)),
      outputs: (node.ports.outputs ?? []).map(normalOutput),
    },
    resources: {
      cpus: resources.cpus ?? null,
      gpus: resources.gpus ?? null,
      ram: resources.ram ?? null,
      env: resources.env ?? {},
      flavor: resources.flavor ?? null,
    },
    duration_s: node.duration_s ?? null,
    timeout: node.timeout ?? null,
    cache: node.cache ?? true,
    device: node.device ?? null,
    isolation: node.isolation ?? null,
    position: node.position ? { x: node.position.x, y: node.position.y } : { x: 0, y: 0 },
  }
}

function normalInput(port: InputPort, own: string | null): NormalInputPort {
  const reference = port.message ?? port.name
  const message = own !== null && reference.startsWith(own) ? reference.slice(own.length) : reference
  return { name: port.name, dtype: port.dtype, message, trigger: port.trigger ?? true }
}

function normalOutput(port: OutputPort): NormalOutputPort {
  return { name: port.name, dtype: port.dtype, message: port.message ?? port.name, rate_hz: port.rate_hz ?? null }
}
