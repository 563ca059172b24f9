import { Handle, type Node, type NodeProps, Position } from '@xyflow/react'
import { memo, useEffect, useRef } from 'react'
import type { ValueFrame } from '../../../client/index.ts'
import { live } from '../engine/live.ts'
import { paintNoMore, paintSoon } from '../engine/painter.ts'
import { ageText, durationText, valueText } from '../parts/format.ts'
import { Icon } from '../parts/Icon.tsx'
import { type Box, heightOf, type Port } from './graph.ts'
import { iconOf } from './type-icons.ts'

export type BoxNode = Node<
  {
    flow: string
    box: Box
    issue: { kind: 'down' | 'error'; text: string } | null
    is_changed: boolean
  },
  'box'
>

const portTop = (at: number): number => 43 + at * 20
const MEDIA = new Set(['image', 'audio', 'video', 'artifact'])
const portClass = ({ dtype, wakes }: Port, side: string): string =>
  `port ${side} ${MEDIA.has(dtype) ? 'port-media' : dtype === 'bool' ? 'port-bool' : ''} ${wakes ? '' : 'port-quiet'}`

/** A node with its ports, or the label of a message that comes from elsewhere. */
export const NodeBox = memo(function NodeBox({ data, selected }: NodeProps<BoxNode>) {
  const { flow, box, issue, is_changed } = data
  if (box.kind !== 'node') {
    const name = box.id.slice('from '.length)
    return (
      <div className="far" title={box.kind === 'far' ? `published by ${name}` : 'published from outside'}>
        <Icon name={box.kind === 'far' ? 'out' : 'hook'} />
        <span className="cut">{box.kind === 'far' ? name : name.slice(flow.length + 1)}</span>
        <Handle type="source" position={Position.Right} id={name} className="handle" />
      </div>
    )
  }
  const classes = [
    'node',
    issue !== null && 'node-flagged',
    issue?.kind === 'error' && 'node-error',
    issue?.kind === 'down' && 'node-down',
    is_changed && 'node-changed',
    selected && 'node-chosen',
  ]
  return (
    <div className={classes.filter(Boolean).join(' ')} style={{ height: heightOf(box) }}>
      <div className="node-head">
        <Icon name={iconOf(box.type)} />
        <span className="cut" title={box.id}>
          {box.id}
        </span>
        <Taken flow={flow} node={box.id} />
      </div>
      <div className="node-ports">
        <ul>
          {box.inputs.map(port => (
            <li key={port.name} className={portClass(port, '')} title={`${port.message}, ${port.dtype}`}>
              {port.name}
            </li>
          ))}
        </ul>
        <ul>
          {box.outputs.map(port => (
            <PortOut key={port.name} port={port} />
          ))}
        </ul>
      </div>
      {issue !== null && (
        <span className="node-mark" title={issue.text}>
          {issue.kind}
        </span>
      )}
      {box.inputs.map(({ name }, at) => (
        <Handle
          key={name}
          type="target"
          position={Position.Left}
          id={name}
          className="handle"
          style={{ top: portTop(at) }}
        />
      ))}
      {box.outputs.map(({ name }, at) => (
        <Handle
          key={name}
          type="source"
          position={Position.Right}
          id={name}
          className="handle"
          style={{ top: portTop(at) }}
        />
      ))}
    </div>
  )
})

/** An output port; the newest value and its age are its tooltip. */
function PortOut({ port }: { port: Port }) {
  const item = useRef<HTMLLIElement>(null)
  const { message, dtype } = port
  useEffect(() => {
    let newest: ValueFrame | null = null
    const paint = (): void => {
      if (item.current === null || newest === null) return
      const age = ageText((Date.now() - Date.parse(newest.ts)) / 1000)
      item.current.title = `${valueText(newest.value, 200)}\n${message}, ${dtype}, ${age}`
    }
    const end = live.value(message, frame => {
      newest = frame
      paintSoon(paint)
    })
    return () => {
      end()
      paintNoMore(paint)
    }
  }, [message, dtype])
  return (
    <li ref={item} className={portClass(port, 'port-out')} title={`${message}, ${dtype}`}>
      {port.name}
    </li>
  )
}

/** How long the body takes, once a second. */
function Taken({ flow, node }: { flow: string; node: string }) {
  const span = useRef<HTMLSpanElement>(null)
  useEffect(
    () =>
      live.activity(({ nodes }) => {
        if (span.current === null || nodes?.flow !== flow) return
        const own = nodes.items.find(({ id }) => id === node)
        if (own !== undefined) span.current.textContent = own.p99_s === null ? '' : durationText(own.p99_s)
      }),
    [flow, node],
  )
  return <span className="p" ref={span} title="p99 of the last minute" />
}
