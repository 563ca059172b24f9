import '../../look/canvas.css'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { lazy, Suspense, useCallback, useEffect, useMemo, useState } from 'react'
import { Link, useParams, useSearchParams } from 'wouter'
import type { Flow as FlowNoun, SavedFlow } from '../../../../protocol/nouns/flow.ts'
import type { FlowDocument } from '../../../../protocol/nouns/flow-document.ts'
import { client } from '../engine/client.ts'
import { live } from '../engine/live.ts'
import { useMay } from '../engine/session.ts'
import { Button } from '../parts/Button.tsx'
import { Loading } from '../parts/Loading.tsx'
import { Problem } from '../parts/Problem.tsx'
import { Page } from '../shell/Page.tsx'
import { changedNodes, type Draft, keepDraft, keptDraft, withNode } from './draft.ts'
import { FlowHistory } from './FlowHistory.tsx'
import { FlowIssues } from './FlowIssues.tsx'
import { NodeDrawer } from './NodeDrawer.tsx'
import { Review } from './Review.tsx'

const Canvas = lazy(() => import('../canvas/Canvas.tsx'))
const TABS = [
  ['', 'Canvas'],
  ['issues', 'Issues'],
  ['history', 'History'],
] as const

export default function Flow() {
  const { flow: name } = useParams<{ flow: string }>()
  const { data, error, refetch } = useQuery({ queryKey: ['flow', name], queryFn: () => client.flows.get(name) })
  if (data === undefined)
    return (
      <Page crumbs={[{ name: 'Flows', path: '/flows' }, name]}>
        {error === null ? <Loading /> : <Problem error={error} onRetry={() => void refetch()} />}
      </Page>
    )
  return <OpenFlow key={name} flow={data} />
}

function OpenFlow({ flow }: { flow: FlowNoun }) {
  const { name, version, document: running, issues, enabled, origin } = flow
  const { tab = '' } = useParams<{ tab?: string }>()
  const [params, setParams] = useSearchParams()
  const mayCode = useMay('code')
  const queries = useQueryClient()
  const [draft, setDraftState] = useState<Draft | null>(() => keptDraft(name, localStorage))
  const [isReviewing, setReviewing] = useState(false)
  const [saved, setSaved] = useState<SavedFlow | null>(null)
  const setDraft = useCallback(
    (next: Draft | null): void => {
      setDraftState(next)
      keepDraft(name, next, localStorage)
    },
    [name],
  )
  useEffect(
    () =>
      live.events(event => {
        if (event.flow === name && /^(flow_|node_|issue)/.test(event.type))
          void queries.invalidateQueries({ queryKey: ['flow', name] })
      }),
    [name, queries],
  )
  const document = draft?.document ?? running
  const change = (next: FlowDocument): void => {
    setSaved(null)
    setDraft({ base_version: draft?.base_version ?? version, document: next })
  }
  const chosen = params.get('node')
  const choose = (node: string | null): void =>
    setParams(
      before => {
        if (node === null) before.delete('node')
        else before.set('node', node)
        return before
      },
      { replace: true },
    )
  const changed = useMemo(() => new Set(changedNodes(running, document)), [running, document])
  const trouble = useMemo(
    () =>
      new Map(
        issues.flatMap(({ node, advisory, code, message }) =>
          node === null || advisory
            ? []
            : [[node, { kind: code === 'node_down' ? 'down' : 'error', text: message }] as const],
        ),
      ),
    [issues],
  )
  const real = issues.filter(({ advisory }) => !advisory).length
  const node = document.nodes.find(({ id }) => id === chosen) ?? null
  const path = `/flows/${encodeURIComponent(name)}`
  return (
    <Page
      crumbs={[{ name: 'Flows', path: '/flows' }, name]}
      isBare
      actions={
        <>
          <span className="badge">version {version}</span>
          {!enabled && <span className="badge badge-warn">disabled</span>}
          {real > 0 && <span className="badge badge-error">{real === 1 ? '1 issue' : `${real} issues`}</span>}
        </>
      }
    >
      <div className="flow-page">
        <div className="toolbar">
          <nav className="tabs" aria-label="Parts of the flow">
            {TABS.map(([key, label]) => (
              <Link
                key={key}
                className="tab"
                href={key === '' ? path : `${path}/${key}`}
                aria-current={tab === key ? 'page' : undefined}
              >
                {label}
                {key === 'issues' && issues.length > 0 && <span className="badge">{issues.length}</span>}
              </Link>
            ))}
          </nav>
          <span className="row">
            {saved !== null && (
              <span className="small muted" role="status">
                Version {saved.version} runs. {saved.restarted.length === 0 ? 'No node' : saved.restarted.join(', ')}{' '}
                restarted, {saved.kept.length} kept.
              </span>
            )}
            {changed.size > 0 && (
              <>
                <span className="small muted">
                  {changed.size} {changed.size === 1 ? 'node' : 'nodes'} changed
                </span>
                <Button onClick={() => setDraft(null)}>Discard</Button>
              </>
            )}
            <Button
              kind="main"
              disabled={draft === null || !mayCode}
              title={mayCode ? undefined : 'Your role may not change code.'}
              onClick={() => setReviewing(true)}
            >
              Review and deploy
            </Button>
          </span>
        </div>
        {tab === 'history' ? (
          <FlowHistory flow={name} />
        ) : tab === 'issues' ? (
          <FlowIssues flow={name} issues={issues} />
        ) : (
          <div className={node === null ? 'flow-body' : 'flow-body has-drawer'}>
            <Suspense fallback={<Loading label="The canvas" />}>
              <Canvas
                flow={name}
                document={document}
                chosen={chosen}
                trouble={trouble}
                changed={changed}
                onChoose={choose}
                onMove={(id, position) => change(withNode(document, id, { position }))}
              />
            </Suspense>
            {node !== null && (
              <NodeDrawer
                key={node.id}
                flow={name}
                node={node}
                isGenerated={origin !== null}
                onChange={next => change(withNode(document, node.id, next))}
                onSave={() => setReviewing(true)}
                onClose={() => choose(null)}
              />
            )}
          </div>
        )}
      </div>
      {isReviewing && draft !== null && (
        <Review
          flow={flow}
          draft={draft}
          changed={[...changed]}
          onClose={() => setReviewing(false)}
          onSaved={result => {
            setReviewing(false)
            setSaved(result)
            // What was saved runs now; the rest of it is read again.
            queries.setQueryData(['flow', name], { ...flow, document: draft.document, version: result.version })
            setDraft(null)
            void queries.invalidateQueries({ queryKey: ['flow', name] })
          }}
          onRebased={() => setDraft({ ...draft, base_version: version })}
        />
      )}
    </Page>
  )
}
