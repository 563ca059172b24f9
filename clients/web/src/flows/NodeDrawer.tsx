import { lazy, Suspense, useState } from 'react'
import type { FlowNode } from '../../../../protocol/nouns/flow-document.ts'
import type { Mistake } from '../canvas/CodeEditor.tsx'
import { iconOf } from '../canvas/type-icons.ts'
import { useMay } from '../engine/session.ts'
import { IconButton } from '../parts/Button.tsx'
import { Icon } from '../parts/Icon.tsx'
import { Loading } from '../parts/Loading.tsx'
import { NodeErrors } from './NodeErrors.tsx'
import { NodeLive } from './NodeLive.tsx'
import { NodeSettings } from './NodeSettings.tsx'
import { TryBody } from './TryBody.tsx'

const CodeEditor = lazy(() => import('../canvas/CodeEditor.tsx'))
const CTX = ['settings', 'state', 'emit', 'log', 'metric', 'artifact', 'read', 'secret', 'signal'].map(
  word => `ctx.${word}`,
)

interface NodeDrawerProps {
  readonly flow: string
  readonly node: FlowNode
  /** Its flow is defined in code: bodies are read-only here. */
  readonly isGenerated: boolean
  onChange(change: Partial<FlowNode>): void
  onSave(): void
  onClose(): void
}

type Tab = 'Body' | 'Settings' | 'Live' | 'Errors'

/** One node beside the canvas. */
export function NodeDrawer({ flow, node, isGenerated, onChange, onSave, onClose }: NodeDrawerProps) {
  const isCode = node.type === 'code'
  const mayCode = useMay('code')
  const [tab, setTab] = useState<Tab>(isCode ? 'Body' : 'Settings')
  const [mistake, setMistake] = useState<Mistake | null>(null)
  const [given, setGiven] = useState<Readonly<Record<string, unknown>> | null>(null)
  const tabs: Tab[] = [...(isCode ? (['Body'] as const) : []), 'Settings', 'Live', 'Errors']
  const words = [
    ...(node.ports.inputs ?? []).map(({ name }) => name),
    ...Object.keys(node.settings ?? {}).map(name => `ctx.settings.${name}`),
    ...CTX,
  ]
  return (
    <aside className="drawer flow-drawer" aria-label={`Node ${node.id}`}>
      <div className="drawer-head">
        <Icon name={iconOf(node.type)} />
        <h2 className="cut" title={node.id}>
          {node.id}
        </h2>
        <span className="badge">
          {node.type}
          {isCode && ` · ${node.language ?? 'ts'}`}
        </span>
        <span className="grow" />
        <IconButton icon="x" label="Close" onClick={onClose} />
      </div>
      <div className="tabs" role="tablist" aria-label={`Parts of ${node.id}`}>
        {tabs.map(one => (
          <button
            key={one}
            type="button"
            role="tab"
            className="tab"
            aria-selected={tab === one}
            onClick={() => setTab(one)}
          >
            {one}
          </button>
        ))}
      </div>
      {tab === 'Body' && (
        <>
          {isGenerated && <p className="notice">This body is generated from a repository and is changed there.</p>}
          <Suspense fallback={<Loading label="The editor" />}>
            <CodeEditor
              source={node.source ?? ''}
              language={node.language ?? 'ts'}
              isReadOnly={isGenerated || !mayCode}
              words={words}
              mistake={mistake}
              label={`Body of ${node.id}`}
              onChange={source => {
                setMistake(null)
                onChange({ source })
              }}
              onSave={onSave}
            />
          </Suspense>
          {node.language !== 'python' && <TryBody flow={flow} node={node} given={given} onMistake={setMistake} />}
        </>
      )}
      {tab === 'Settings' && (
        <NodeSettings key={node.id} node={node} isReadOnly={isGenerated || !mayCode} onChange={onChange} />
      )}
      {tab === 'Live' && <NodeLive flow={flow} node={node} />}
      {tab === 'Errors' && (
        <NodeErrors
          name={`${flow}.${node.id}`}
          onTry={
            isCode
              ? inputs => {
                  setGiven(inputs)
                  setTab('Body')
                }
              : null
          }
        />
      )}
    </aside>
  )
}
