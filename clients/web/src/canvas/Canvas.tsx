import '@xyflow/react/dist/style.css'
import '../../look/canvas.css'
import { Background, Controls, type Edge, type Node, type NodeChange, ReactFlow } from '@xyflow/react'
import { useEffect, useMemo } from 'react'
import type { FlowDocument } from '../../../../protocol/nouns/flow-document.ts'
import { live } from '../engine/live.ts'
import { BOX_PX, type Box, graphOf, heightOf, type Wire } from './graph.ts'
import { layoutOf } from './layout.ts'
import { type BoxNode, NodeBox } from './NodeBox.tsx'
import { Pulses } from './pulses.ts'

interface CanvasProps {
  readonly flow: string
  readonly document: FlowDocument
  readonly chosen: string | null
  /** Nodes with an issue that is no advice, by id: what it says. */
  readonly trouble: ReadonlyMap<string, { readonly kind: 'down' | 'error'; readonly text: string }>
  /** Nodes whose draft differs from what runs. */
  readonly changed: ReadonlySet<string>
  onChoose(node: string | null): void
  onMove(node: string, position: { x: number; y: number }): void
}

const NODE_TYPES = { box: NodeBox }
const PRO = { hideAttribution: true }

/** A flow as it is wired, alive: wires pulse by their rate, and boxes show what they take. Values never pass through what React draws. */
export default function Canvas({ flow, document, chosen, trouble, changed, onChoose, onMove }: CanvasProps) {
  const graph = useMemo(() => graphOf(flow, document), [flow, document])
  const positions = useMemo(() => layoutOf(graph), [graph])
  const nodes = useMemo(
    () =>
      graph.boxes.map((box): BoxNode => {
        const issue = trouble.get(box.id) ?? null
        return {
          id: box.id,
          type: 'box',
          position: { ...positions.get(box.id)! },
          width: BOX_PX,
          height: heightOf(box),
          selected: box.id === chosen,
          draggable: box.kind === 'node',
          connectable: false,
          data: { flow, box, issue, is_changed: changed.has(box.id) },
          ariaLabel: ariaOf(box, issue?.text ?? null),
        }
      }),
    [graph, positions, chosen, trouble, changed, flow],
  )
  const edges = useMemo(() => graph.wires.map(edgeOf), [graph])
  useEffect(() => {
    const pulses = new Pulses()
    live.nodesOf(flow)
    const ends = [...new Set(graph.wires.map(({ message }) => message))].map(message =>
      live.value(message, ({ version }) => pulses.came(message, version)),
    )
    const timer = setInterval(() => paintWires(pulses), 1_000)
    return () => {
      for (const end of ends) end()
      clearInterval(timer)
      live.nodesOf(null)
    }
  }, [flow, graph])
  const onNodesChange = (changes: NodeChange<Node>[]): void => {
    for (const change of changes)
      if (change.type === 'position' && change.position !== undefined) onMove(change.id, change.position)
  }
  return (
    <ReactFlow
      className="canvas"
      nodes={nodes}
      edges={edges}
      nodeTypes={NODE_TYPES}
      onNodesChange={onNodesChange}
      onNodeClick={(_event, { id, data }) => onChoose((data as BoxNode['data']).box.kind === 'node' ? id : null)}
      onPaneClick={() => onChoose(null)}
      onlyRenderVisibleElements
      fitView
      fitViewOptions={{ maxZoom: 1, padding: 0.1 }}
      minZoom={0.1}
      nodesConnectable={false}
      edgesFocusable={false}
      proOptions={PRO}
      aria-label={`The nodes of ${flow} and their wires`}
    >
      <Background gap={16} size={1} />
      <Controls showInteractive={false} />
    </ReactFlow>
  )
}

/** Writes the speed of each wire that is in the page. */
function paintWires(pulses: Pulses): void {
  for (const wire of window.document.querySelectorAll<SVGElement>('.wire-edge[data-message]')) {
    const speed = pulses.speed(wire.dataset['message']!)
    if ((wire.dataset['speed'] ?? null) === speed) continue
    if (speed === null) delete wire.dataset['speed']
    else wire.dataset['speed'] = speed
  }
}

const edgeOf = ({ id, from, from_port, to, to_port, message }: Wire): Edge => ({
  ...{ id, source: from, sourceHandle: from_port, target: to, targetHandle: to_port, type: 'smoothstep' },
  className: 'wire-edge',
  domAttributes: { 'data-message': message } as never,
  focusable: false,
})

const ariaOf = ({ id, kind, type }: Box, issue: string | null): string =>
  `${kind === 'node' ? `${id}, ${type}` : id.slice(5)}${issue === null ? '' : `, ${issue}`}`
