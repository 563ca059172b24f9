import { useMutation } from '@tanstack/react-query'
import { useId, useState } from 'react'
import type { Flow, SavedFlow } from '../../../../protocol/nouns/flow.ts'
import { client } from '../engine/client.ts'
import { problemOf } from '../engine/problem.ts'
import { Button } from '../parts/Button.tsx'
import { Dialog } from '../parts/Dialog.tsx'
import { Problem } from '../parts/Problem.tsx'
import { type Draft, lineDifference } from './draft.ts'

interface ReviewProps {
  readonly flow: Flow
  readonly draft: Draft
  readonly changed: readonly string[]
  onClose(): void
  onSaved(saved: SavedFlow): void
  /** The draft goes on from the version that runs now. */
  onRebased(): void
}

/** What a deploy would change, before it does. A save from an old version is refused and loses nothing: the draft stays. */
export function Review({ flow, draft, changed, onClose, onSaved, onRebased }: ReviewProps) {
  const [message, setMessage] = useState('')
  const id = useId()
  const save = useMutation({
    mutationFn: () =>
      client.flows.save(flow.name, {
        document: draft.document,
        base_version: draft.base_version,
        ...(message === '' ? {} : { message }),
      }),
    onSuccess: onSaved,
  })
  const isStale = draft.base_version !== flow.version || problemOf(save.error).code?.endsWith('stale_version') === true
  return (
    <Dialog
      title={`Deploy ${flow.name} as version ${flow.version + 1}`}
      onClose={onClose}
      foot={
        <>
          <Button onClick={onClose}>Go on editing</Button>
          <Button
            kind="main"
            disabled={save.isPending || isStale}
            isBusy={save.isPending}
            onClick={() => save.mutate()}
          >
            Deploy
          </Button>
        </>
      }
    >
      {isStale && (
        <div className="notice notice-warn">
          <div>
            <p>
              Version {flow.version} was saved by {flow.updated_by} while you worked on version {draft.base_version}.
              Your changes are kept. To save them over that version, take it as their base.
            </p>
            <Button onClick={onRebased}>Save mine over version {flow.version}</Button>
          </div>
        </div>
      )}
      <ul className="list">
        {changed.map(node => (
          <li key={node}>
            <b className="strong">{node}</b>
            <NodeDifference flow={flow} draft={draft} node={node} />
          </li>
        ))}
        {changed.length === 0 && <li>Only positions have changed: nothing restarts.</li>}
      </ul>
      <div className="field">
        <label htmlFor={id}>What changed</label>
        <input
          className="input"
          id={id}
          maxLength={1000}
          value={message}
          placeholder="for the history; may be empty"
          onChange={event => setMessage(event.target.value)}
        />
      </div>
      {save.error !== null && !isStale && <Problem error={save.error} />}
    </Dialog>
  )
}

function NodeDifference({ flow, draft, node }: Pick<ReviewProps, 'flow' | 'draft'> & { node: string }) {
  const before = flow.document.nodes.find(({ id }) => id === node)
  const after = draft.document.nodes.find(({ id }) => id === node)
  if (before === undefined) return <p className="small muted">is new</p>
  if (after === undefined) return <p className="small s-failed">is removed</p>
  const { source: old_source, position: _, ...old_rest } = before
  const { source, position: __, ...rest } = after
  const isRest = JSON.stringify(old_rest) !== JSON.stringify(rest)
  const lines = [
    ...(isRest ? lineDifference(JSON.stringify(old_rest, null, 2), JSON.stringify(rest, null, 2)) : []),
    ...(old_source === source ? [] : lineDifference(old_source ?? '', source ?? '')),
  ]
  return (
    <pre className="code review-code">
      {lines.map(({ sign, text }, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other name
        <span key={at} className={sign === '+' ? 'ln ln-add' : sign === '-' ? 'ln ln-del' : 'ln'}>
          {text}
        </span>
      ))}
    </pre>
  )
}
