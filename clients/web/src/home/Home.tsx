import '../../look/home.css'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { client } from '../engine/client.ts'
import { live } from '../engine/live.ts'
import { Loading } from '../parts/Loading.tsx'
import { Problem } from '../parts/Problem.tsx'
import { Page } from '../shell/Page.tsx'
import { Disk } from './Disk.tsx'
import { FirstRun } from './FirstRun.tsx'
import { FlowRates } from './FlowRates.tsx'
import { Machines } from './Machines.tsx'
import { NeedsALook } from './NeedsALook.tsx'
import { RunsInProgress } from './RunsInProgress.tsx'
import { StatusLine } from './StatusLine.tsx'
import { Waiting } from './Waiting.tsx'

const AGAIN_MS = 5_000
/** Events after which what the page shows may be another. */
const TELLING = /^(flow_|node_|run_|issue|worker_)/

/** What runs now, what needs a look, what waits and why, and what the machines have. */
export default function Home() {
  const queries = useQueryClient()
  const flows = useQuery({ queryKey: ['flows'], queryFn: () => client.flows.list(), refetchInterval: AGAIN_MS })
  const summary = useQuery({ queryKey: ['summary'], queryFn: () => client.status(), refetchInterval: AGAIN_MS })
  const books = useQuery({ queryKey: ['resources'], queryFn: () => client.resources(), refetchInterval: AGAIN_MS })
  const runs = useQuery({
    queryKey: ['runs', 'running'],
    queryFn: () => client.runs.page({ status: 'running' }, 20),
    refetchInterval: AGAIN_MS,
  })
  useEffect(
    () =>
      live.events(({ type }) => {
        if (TELLING.test(type)) void queries.invalidateQueries({ refetchType: 'active' })
      }),
    [queries],
  )
  const failed = [flows, summary, books, runs].find(({ error }) => error !== null)
  return (
    <Page crumbs={['Home']}>
      <div className="statusline">
        {summary.data !== undefined && <StatusLine summary={summary.data} books={books.data ?? null} />}
      </div>
      {failed !== undefined && <Problem error={failed.error} onRetry={() => void queries.refetchQueries()} />}
      <div className="grid">
        <div className="column col-8">
          {flows.data === undefined ? (
            flows.error === null && <Loading rows={8} />
          ) : (
            <>
              <NeedsALook flows={flows.data.items} />
              {flows.data.count <= 1 && <FirstRun flow={flows.data.items[0]?.name ?? null} />}
              {flows.data.count > 0 && <FlowRates flows={flows.data.items} />}
            </>
          )}
        </div>
        <div className="column col-4">
          {runs.data !== undefined && <RunsInProgress runs={runs.data.items} />}
          {books.data !== undefined && <Waiting books={books.data} />}
          {books.data !== undefined && <Machines books={books.data} />}
          {summary.data !== undefined && <Disk classes={summary.data.disk} />}
        </div>
      </div>
    </Page>
  )
}
