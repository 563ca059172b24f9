import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { Link, useSearchParams } from 'wouter'
import type { EngineEvent } from '../../../../protocol/nouns/event.ts'
import { EVENT_TYPES, type EventType } from '../../../../protocol/words/event-types.ts'
import { client } from '../engine/client.ts'
import { live } from '../engine/live.ts'
import { Age } from '../parts/Age.tsx'
import { Empty } from '../parts/Empty.tsx'
import { valueText } from '../parts/format.ts'
import { Loading } from '../parts/Loading.tsx'
import { Problem } from '../parts/Problem.tsx'
import { Table } from '../parts/Table.tsx'
import { Page } from '../shell/Page.tsx'

const PAGE = 200
const OWN = new Set(['type', 'ts', 'flow', 'run'])

/** What an event says beside its type, time, flow and run. */
const detailOf = (event: EngineEvent): string =>
  Object.entries(event)
    .filter(([name, value]) => !OWN.has(name) && value !== null)
    .map(([name, value]) => `${name} ${typeof value === 'string' ? value : valueText(value, 60)}`)
    .join(', ')

/** What happened in the engine, newest first, read again as things happen. */
export default function Events() {
  const queries = useQueryClient()
  const [params, setParams] = useSearchParams()
  const type = params.get('type') as EventType | null
  const query = { limit: PAGE, ...(type === null ? {} : { type }) }
  const { data, error, refetch } = useQuery({ queryKey: ['events', query], queryFn: () => client.events.list(query) })
  useEffect(() => live.events(() => void queries.invalidateQueries({ queryKey: ['events'] })), [queries])
  return (
    <Page crumbs={['Events']}>
      <div className="filters bar">
        <label className="row">
          <span className="label">Type</span>
          <select
            className="select"
            value={type ?? ''}
            onChange={event =>
              setParams(event.target.value === '' ? {} : { type: event.target.value }, { replace: true })
            }
          >
            <option value="">all</option>
            {EVENT_TYPES.map(one => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
      </div>
      {error !== null && <Problem error={error} onRetry={() => void refetch()} />}
      {data === undefined ? (
        error === null && <Loading rows={10} />
      ) : data.items.length === 0 ? (
        <Empty icon="list" title="Nothing has happened">
          <p>Saves, failures, runs and sign-ins are told here.</p>
        </Empty>
      ) : (
        <Table
          label="Events"
          rows={data.items}
          keyOf={event => `${event.ts} ${event.type} ${event.flow}`}
          columns={[
            { title: 'When', cell: ({ ts }) => <Age at={ts} /> },
            { title: 'What', cell: event => <span className="ink">{event.type}</span> },
            {
              title: 'Where',
              cell: ({ flow, run }) =>
                run !== null ? (
                  <Link className="link" href={`/runs/${run}`}>
                    {flow} {run.slice(-4)}
                  </Link>
                ) : flow !== null ? (
                  <Link className="link" href={`/flows/${encodeURIComponent(flow)}`}>
                    {flow}
                  </Link>
                ) : (
                  ''
                ),
            },
            {
              title: 'Detail',
              only: 'wide',
              cell: event => <span className="muted wrap-cell">{detailOf(event)}</span>,
            },
          ]}
        />
      )}
    </Page>
  )
}
