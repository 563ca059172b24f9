import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { client } from '../engine/client.ts'
import { useMay } from '../engine/session.ts'
import { Age } from '../parts/Age.tsx'
import { Button } from '../parts/Button.tsx'
import { Loading } from '../parts/Loading.tsx'
import { Problem } from '../parts/Problem.tsx'
import { Scroll } from '../parts/Scroll.tsx'

const SHOWN = 200

/** The commits of a flow, what each changed, and the way back. */
export function FlowHistory({ flow }: { flow: string }) {
  const [chosen, setChosen] = useState<string | null>(null)
  const { data, error } = useQuery({
    queryKey: ['flow', flow, 'history'],
    queryFn: () => client.flows.history(flow, SHOWN),
  })
  if (error !== null) return <Problem error={error} />
  if (data === undefined) return <Loading rows={6} />
  return (
    <div className="page grid flow-history">
      <Scroll className="card table-wrap col-6" label="Commits">
        <table className="table">
          <thead>
            <tr>
              <th className="num">Version</th>
              <th>What</th>
              <th>Message</th>
              <th>By</th>
              <th>When</th>
            </tr>
          </thead>
          <tbody>
            {data.items.map(({ commit, version, action, message, author, at }) => (
              <tr key={commit} aria-selected={commit === chosen}>
                <td className="num">{version}</td>
                <td>
                  <button type="button" className="as-link" onClick={() => setChosen(commit)}>
                    {action}
                  </button>
                </td>
                <td className="cut wrap-cell">{message}</td>
                <td className="muted">{author}</td>
                <td className="muted">
                  <Age at={at} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      {chosen !== null && <Commit flow={flow} commit={chosen} />}
    </div>
  )
}

function Commit({ flow, commit }: { flow: string; commit: string }) {
  const mayCode = useMay('code')
  const queries = useQueryClient()
  const { data, error } = useQuery({
    queryKey: ['flow', flow, 'commit', commit],
    queryFn: () => client.flows.commit(flow, commit),
  })
  const restore = useMutation({
    mutationFn: () => client.flows.restore(flow, commit),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['flow', flow] }),
  })
  if (error !== null) return <Problem error={error} />
  if (data === undefined) return null
  return (
    <section className="card col-6" aria-label={`Version ${data.version}`}>
      <div className="card-head">
        <h2>
          Version {data.version} <span className="mono muted">{commit.slice(0, 7)}</span>
        </h2>
        <div className="end">
          <Button disabled={!mayCode || restore.isPending || data.document === null} onClick={() => restore.mutate()}>
            Restore
          </Button>
        </div>
      </div>
      <div className="card-body stack">
        {restore.error !== null && <Problem error={restore.error} />}
        {restore.data !== undefined && <p role="status">It runs again as version {restore.data.version}.</p>}
        {data.diff.length === 0 && <p className="muted">Nothing differs from the version before.</p>}
        {data.diff.map(({ path, before, after }) => (
          <div key={path}>
            <p className="mono small">{path === '' ? '/' : path}</p>
            {before !== undefined && <pre className="well">− {textOf(before)}</pre>}
            {after !== undefined && <pre className="well">+ {textOf(after)}</pre>}
          </div>
        ))}
      </div>
    </section>
  )
}

const textOf = (value: unknown): string =>
  (typeof value === 'string' ? value : JSON.stringify(value, null, 1)).slice(0, 20_000)
