import '../../look/runs.css'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { Link, useLocation, useParams } from 'wouter'
import type { Run as RunNoun } from '../../../../protocol/nouns/run.ts'
import { client } from '../engine/client.ts'
import { live } from '../engine/live.ts'
import { useMay } from '../engine/session.ts'
import { Age } from '../parts/Age.tsx'
import { Button } from '../parts/Button.tsx'
import { durationText, valueText } from '../parts/format.ts'
import { Status } from '../parts/Glyph.tsx'
import { Loading } from '../parts/Loading.tsx'
import { Problem } from '../parts/Problem.tsx'
import { Page } from '../shell/Page.tsx'
import { Curves } from './Curves.tsx'
import { Nodes } from './Nodes.tsx'
import { RunLog } from './RunLog.tsx'
import { glyphOf, hasEnded, shortId } from './status.ts'
import { Values } from './Values.tsx'
import { Why } from './Why.tsx'

const AGAIN_MS = 2_000

/** One run: how far it is, why its nodes ran, what it measured, said and left. */
export default function Run() {
  const { id } = useParams<{ id: string }>()
  const queries = useQueryClient()
  const [node, setNode] = useState<string | null>(null)
  const run = useQuery({
    queryKey: ['run', id],
    queryFn: () => client.runs.get(id),
    refetchInterval: ({ state }) => (state.data !== undefined && hasEnded(state.data.status) ? false : AGAIN_MS),
  })
  const isLive = run.data !== undefined && !hasEnded(run.data.status)
  const nodes = useQuery({
    queryKey: ['run', id, 'nodes'],
    queryFn: () => client.runs.nodes(id),
    refetchInterval: isLive ? AGAIN_MS : false,
  })
  useEffect(
    () =>
      live.events(event => {
        if (event.run === id) void queries.invalidateQueries({ queryKey: ['run', id] })
      }),
    [id, queries],
  )
  const { data } = run
  const shown =
    node ?? nodes.data?.items.find(({ status }) => status === 'failed' || status === 'running')?.node ?? null
  return (
    <Page
      crumbs={[
        { name: 'Runs', path: '/runs' },
        ...(data === undefined ? [] : [{ name: data.flow, path: `/runs?flow=${encodeURIComponent(data.flow)}` }]),
        shortId(id),
      ]}
    >
      {run.error !== null && <Problem error={run.error} onRetry={() => void run.refetch()} />}
      {data === undefined ? (
        run.error === null && <Loading rows={6} />
      ) : (
        <>
          <Head run={data} />
          <div className="grid">
            <div className="column col-7">
              {data.error !== null && (
                <section className="notice notice-error" aria-label="Why it failed">
                  <div>
                    <p className="strong">{data.error.message}</p>
                    <p className="micro mono muted">{data.error.code}</p>
                    {data.error.stack !== null && <pre className="well">{data.error.stack}</pre>}
                  </div>
                </section>
              )}
              <Nodes nodes={nodes.data?.items ?? []} run={data} chosen={shown} onChoose={setNode} />
              {shown !== null && <Why run={id} node={shown} />}
              <Values title="Inputs" values={data.inputs_resolved} />
              {data.result !== null && <Values title="Result" values={data.result} />}
            </div>
            <div className="column col-5">
              <Curves run={id} flow={data.flow} isLive={isLive} />
              <RunLog key={id} run={id} />
            </div>
          </div>
        </>
      )}
    </Page>
  )
}

function Head({ run }: { run: RunNoun }) {
  const mayRun = useMay('run')
  const queries = useQueryClient()
  const [, go] = useLocation()
  const cancel = useMutation({
    mutationFn: () => client.runs.cancel(run.id),
    onSettled: () => queries.invalidateQueries({ queryKey: ['run', run.id] }),
  })
  const retry = useMutation({
    mutationFn: () => client.runs.retry(run.id),
    onSuccess: ({ id }) => go(`/runs/${id}`),
  })
  const { inputs, seed, group, created_at, duration, commit, code_digest, created_by, cause, retry_of, version } = run
  const error = cancel.error ?? retry.error
  return (
    <>
      <div className="row bar">
        <Status name={glyphOf(run.status)} word={run.status} />
        {run.cancel_requested_at !== null && !hasEnded(run.status) && (
          <span className="muted">ends when its bodies have</span>
        )}
        <span className="row end">
          {hasEnded(run.status) ? (
            <Button
              icon="retry"
              disabled={!mayRun || retry.isPending}
              isBusy={retry.isPending}
              onClick={() => retry.mutate()}
            >
              Run again
            </Button>
          ) : (
            <Button icon="stop" kind="danger" disabled={!mayRun || cancel.isPending} onClick={() => cancel.mutate()}>
              Cancel
            </Button>
          )}
        </span>
      </div>
      {error !== null && <Problem error={error} />}
      <section className="card bar" aria-label="About this run">
        <dl className="facts r-facts">
          <div>
            <dt>Inputs</dt>
            <dd>
              {Object.entries(inputs).length === 0 && <span className="muted">none</span>}
              {Object.entries(inputs)
                .slice(0, 4)
                .map(([name, value]) => (
                  <span key={name} className="r-input">
                    <span className="muted">{name}</span> {valueText(value, 24)}
                  </span>
                ))}
            </dd>
          </div>
          {seed !== null && (
            <div>
              <dt>Seed</dt>
              <dd>{seed}</dd>
            </div>
          )}
          {group !== null && (
            <div>
              <dt>Set</dt>
              <dd>
                <Link className="link" href={`/runs?group=${encodeURIComponent(group)}`}>
                  {group}
                </Link>
              </dd>
            </div>
          )}
          <div>
            <dt>Created</dt>
            <dd>
              <Age at={created_at} />
            </dd>
          </div>
          <div>
            <dt>{hasEnded(run.status) ? 'Took' : 'Running'}</dt>
            <dd>{duration === null ? '–' : durationText(duration)}</dd>
          </div>
          <div>
            <dt>Flow version</dt>
            <dd>
              {version} <span className="mono muted">{commit.slice(0, 7)}</span>
            </dd>
          </div>
          {code_digest !== null && (
            <div>
              <dt>Code</dt>
              <dd className="mono">{code_digest.replace('sha256:', '').slice(0, 7)}</dd>
            </div>
          )}
          {retry_of !== null && (
            <div>
              <dt>Again of</dt>
              <dd>
                <Link className="link mono" href={`/runs/${retry_of}`}>
                  {shortId(retry_of)}
                </Link>
              </dd>
            </div>
          )}
          <div>
            <dt>By</dt>
            <dd>
              {created_by}, {cause}
            </dd>
          </div>
        </dl>
      </section>
    </>
  )
}
