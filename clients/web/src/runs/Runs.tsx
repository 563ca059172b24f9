import '../../look/runs.css'
import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useMemo, useRef } from 'react'
import { Link, useSearchParams } from 'wouter'
import { RUN_STATUSES } from '../../../../protocol/words/run-status.ts'
import type { RunSearch } from '../../../client/runs/runs.ts'
import { client } from '../engine/client.ts'
import { live } from '../engine/live.ts'
import { Age } from '../parts/Age.tsx'
import { Button } from '../parts/Button.tsx'
import { Empty } from '../parts/Empty.tsx'
import { durationText, valueText } from '../parts/format.ts'
import { Glyph, Status } from '../parts/Glyph.tsx'
import { Icon } from '../parts/Icon.tsx'
import { Loading } from '../parts/Loading.tsx'
import { Problem } from '../parts/Problem.tsx'
import { Scroll } from '../parts/Scroll.tsx'
import { Page } from '../shell/Page.tsx'
import { glyphOf, shortId } from './status.ts'
import { shownInputs } from './varying.ts'

const PAGE = 200
const ROW_PX = 32
const FILTERS = ['flow', 'group', 'tag', 'status', 'where', 'sort'] as const

/** What of the address says which runs. */
function searchOf(params: URLSearchParams): RunSearch {
  const search: Record<string, unknown> = {}
  for (const name of FILTERS) {
    const values = params.getAll(name)
    if (values.length > 0) search[name] = name === 'tag' || name === 'where' ? values : values[0]
  }
  return search as RunSearch
}

/** Runs, newest first, as many as are scrolled to. Filters are in the address. */
export default function Runs() {
  const queries = useQueryClient()
  const [params, setParams] = useSearchParams()
  const search = searchOf(params)
  const { data, error, refetch, fetchNextPage, hasNextPage, isFetchingNextPage } = useInfiniteQuery({
    queryKey: ['runs', search],
    queryFn: ({ pageParam }) => client.runs.page(search, PAGE, pageParam),
    initialPageParam: 0,
    getNextPageParam: last => last.next,
  })
  useEffect(
    () =>
      live.events(({ type }) => {
        if (type.startsWith('run_')) void queries.invalidateQueries({ queryKey: ['runs'] })
      }),
    [queries],
  )
  const set = (name: string, value: string | null): void =>
    setParams(
      before => {
        if (value === null || value === '') before.delete(name)
        else before.set(name, value)
        return before
      },
      { replace: true },
    )
  const chosen = params.getAll('run')
  const choose = (id: string): void =>
    setParams(
      before => {
        const others = before.getAll('run').filter(one => one !== id)
        const isChosen = before.getAll('run').length > others.length
        before.delete('run')
        for (const one of isChosen ? others : [...others, id]) before.append('run', one)
        return before
      },
      { replace: true },
    )
  const runs = useMemo(() => data?.pages.flatMap(({ items }) => items) ?? [], [data])
  const inputs = useMemo(() => shownInputs(runs), [runs])
  const scroller = useRef<HTMLElement>(null)
  const virtual = useVirtualizer({
    count: runs.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: 12,
  })
  const rows = virtual.getVirtualItems()
  const last = rows.at(-1)?.index ?? 0
  useEffect(() => {
    if (hasNextPage && !isFetchingNextPage && last > runs.length - 50) void fetchNextPage()
  }, [hasNextPage, isFetchingNextPage, last, runs.length, fetchNextPage])
  const status = params.get('status')
  return (
    <Page crumbs={['Runs']} isBare>
      <div className="page runs-page">
        <div className="filters bar">
          {(['flow', 'group', 'where'] as const).map(name => (
            <div key={name} className="search">
              <Icon name={name === 'where' ? 'filter' : 'search'} />
              <input
                className="input"
                aria-label={name === 'where' ? 'Condition' : `Filter by ${name}`}
                placeholder={name === 'where' ? 'input.lr<0.1' : name}
                defaultValue={params.get(name) ?? ''}
                onKeyDown={event => {
                  if (event.key === 'Enter') set(name, event.currentTarget.value)
                }}
                onBlur={event => set(name, event.currentTarget.value)}
              />
            </div>
          ))}
          {FILTERS.filter(name => params.has(name)).map(name => (
            <span key={name} className="chip">
              {name} <b>{params.getAll(name).join(', ')}</b>
              <button type="button" aria-label={`Remove the filter ${name}`} onClick={() => set(name, null)}>
                <Icon name="x" />
              </button>
            </span>
          ))}
          <span className="row end">
            {chosen.length > 0 && <span className="muted">{chosen.length} selected</span>}
            {chosen.length > 1 && (
              <Link className="btn" href={`/compare?${chosen.map(id => `run=${id}`).join('&')}`}>
                <Icon name="compare" />
                Compare
              </Link>
            )}
          </span>
        </div>
        <fieldset className="counts" aria-label="Status">
          {[null, ...RUN_STATUSES].map(one => (
            <button
              key={one ?? 'all'}
              type="button"
              className="count-button"
              aria-pressed={status === one}
              onClick={() => set('status', one)}
            >
              {one !== null && <Glyph name={glyphOf(one)} />}
              {one ?? 'all'}
            </button>
          ))}
        </fieldset>
        {error !== null && <Problem error={error} onRetry={() => void refetch()} />}
        {data === undefined ? (
          error === null && <Loading rows={10} />
        ) : runs.length === 0 ? (
          <NoRuns isFiltered={FILTERS.some(name => params.has(name))} onAll={() => setParams({}, { replace: true })} />
        ) : (
          <section className="card r-card" aria-label="Runs">
            <div className="r-row r-head" aria-hidden="true">
              <span />
              <span>Status</span>
              <span>Run</span>
              <span>Flow</span>
              <span className="only-wide">Inputs that differ, or what went wrong</span>
              <span className="num">Took</span>
              <span className="num only-wide">Created</span>
              <span className="only-big">By</span>
            </div>
            <Scroll ref={scroller} className="r-scroll" label="Rows">
              <div className="m-all" style={{ height: virtual.getTotalSize() }}>
                {rows.map(({ index, start, key }) => {
                  const run = runs[index]!
                  return (
                    <div
                      key={key}
                      className="r-row"
                      style={{ transform: `translateY(${start}px)` }}
                      data-chosen={chosen.includes(run.id) || undefined}
                    >
                      <input
                        type="checkbox"
                        aria-label={`Select ${run.flow} ${shortId(run.id)}`}
                        checked={chosen.includes(run.id)}
                        onChange={() => choose(run.id)}
                      />
                      <Status name={glyphOf(run.status)} word={run.status} />
                      <Link className="mono link" href={`/runs/${run.id}`}>
                        {shortId(run.id)}
                      </Link>
                      <span className="strong cut">{run.flow}</span>
                      <span className="cut only-wide">
                        {run.error !== null ? (
                          <span className="s-failed">{run.error.message}</span>
                        ) : (
                          inputs.get(run.id)?.map(([name, value]) => (
                            <span key={name} className="r-input">
                              <span className="muted">{name}</span> <span className="ink">{valueText(value, 24)}</span>
                            </span>
                          ))
                        )}
                      </span>
                      <span className="num">{run.duration === null ? '–' : durationText(run.duration)}</span>
                      <span className="num muted only-wide">
                        <Age at={run.created_at} />
                      </span>
                      <span className="muted cut only-big">
                        {run.created_by}, {run.cause}
                      </span>
                    </div>
                  )
                })}
              </div>
            </Scroll>
            <div className="card-foot">
              {runs.length} runs shown{hasNextPage ? ', more as you scroll' : ''}
            </div>
          </section>
        )}
      </div>
    </Page>
  )
}

function NoRuns({ isFiltered, onAll }: { isFiltered: boolean; onAll: () => void }) {
  if (isFiltered)
    return (
      <Empty icon="filter" title="No run matches">
        <p>Remove a filter, or show all runs.</p>
        <Button kind="main" onClick={onAll}>
          Show all
        </Button>
      </Empty>
    )
  return (
    <Empty icon="run" title="No runs yet">
      <p>
        A run executes a flow once, from given inputs, and records what came of it. Start one with{' '}
        <span className="mono">svc run</span>, or several with <span className="mono">svc sweep</span>.
      </p>
    </Empty>
  )
}
