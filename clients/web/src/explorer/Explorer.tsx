import { useQueries, useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { useSearchParams } from 'wouter'
import { client } from '../engine/client.ts'
import { lineOf } from '../messages/history.ts'
import { Button } from '../parts/Button.tsx'
import { LazyChart } from '../parts/chart/LazyChart.tsx'
import { Empty } from '../parts/Empty.tsx'
import { Icon } from '../parts/Icon.tsx'
import { Problem } from '../parts/Problem.tsx'
import { Page } from '../shell/Page.tsx'
import { bucketOf } from './bucket.ts'

const SPANS = [
  [300, '5 min'],
  [3_600, '1 h'],
  [86_400, '1 d'],
  [2_592_000, '30 d'],
] as const
const DRAWN = new Set(['int', 'float', 'bool'])
const LIVE_MS = 5_000

/** Several messages over one time. What is drawn, and from when to when, is in the address. */
export default function Explorer() {
  const [params, setParams] = useSearchParams()
  const names = params.getAll('messages')
  const span_s = Number(params.get('span') ?? 3_600)
  const zoom = params.has('from') ? ([Number(params.get('from')), Number(params.get('to'))] as const) : null
  const [adding, setAdding] = useState('')
  const all = useQuery({ queryKey: ['messages'], queryFn: () => client.messages.list() })
  const now_s = Math.floor(Date.now() / LIVE_MS) * (LIVE_MS / 1000)
  const [from, to] = zoom ?? [now_s - span_s, now_s]
  const bucket_s = bucketOf(to - from)
  const histories = useQueries({
    queries: names.map(name => ({
      queryKey: ['history', name, zoom === null ? span_s : [from, to]],
      queryFn: () => {
        const end_s = zoom === null ? Date.now() / 1000 : to
        const start_s = zoom === null ? end_s - span_s : from
        return client.messages.history(name, {
          since: new Date(start_s * 1000).toISOString(),
          until: new Date(end_s * 1000).toISOString(),
          limit: 10_000,
          ...(bucket_s === null ? {} : { bucket_s }),
        })
      },
      refetchInterval: zoom === null ? LIVE_MS : (false as const),
    })),
  })
  const stamp = histories.map(({ dataUpdatedAt }) => dataUpdatedAt).join()
  // biome-ignore lint/correctness/useExhaustiveDependencies: `stamp` says when one of them is another
  const lines = useMemo(
    () => histories.flatMap(({ data }, at) => (data === undefined ? [] : [lineOf(names[at]!, data, (at % 6) + 1)])),
    [stamp, names.join()],
  )
  const change = (edit: (params: URLSearchParams) => void): void =>
    setParams(
      before => {
        edit(before)
        return before
      },
      { replace: true },
    )
  const isBool = names.length > 0 && histories.every(({ data }) => data?.dtype === 'bool')
  const failed = histories.find(({ error }) => error !== null)
  const offered = (all.data?.items ?? []).filter(({ name, dtype }) => DRAWN.has(dtype) && !names.includes(name))
  return (
    <Page crumbs={[{ name: 'Messages', path: '/messages' }, 'Explorer']}>
      <div className="filters bar">
        {names.map((name, at) => (
          <span key={name} className="chip">
            <i className={`key k${(at % 6) + 1}`} /> <b>{name}</b>
            <button
              type="button"
              aria-label={`Remove ${name}`}
              onClick={() =>
                change(edited => {
                  edited.delete('messages')
                  for (const one of names) if (one !== name) edited.append('messages', one)
                })
              }
            >
              <Icon name="x" />
            </button>
          </span>
        ))}
        <input
          className="input explorer-add"
          list="explorer-messages"
          aria-label="Add a message"
          placeholder="add a message"
          value={adding}
          onChange={event => {
            const { value } = event.target
            const isThere = offered.some(({ name }) => name === value)
            setAdding(isThere ? '' : value)
            if (isThere) change(edited => edited.append('messages', value))
          }}
        />
        <datalist id="explorer-messages">
          {offered.map(({ name }) => (
            <option key={name} value={name} />
          ))}
        </datalist>
        <fieldset className="btn-group explorer-spans" aria-label="Span">
          {SPANS.map(([seconds, label]) => (
            <button
              key={seconds}
              type="button"
              className="btn"
              aria-pressed={zoom === null && span_s === seconds}
              onClick={() =>
                change(edited => {
                  edited.set('span', String(seconds))
                  edited.delete('from')
                  edited.delete('to')
                })
              }
            >
              {label}
            </button>
          ))}
        </fieldset>
        {zoom !== null && (
          <Button
            onClick={() =>
              change(edited => {
                edited.delete('from')
                edited.delete('to')
              })
            }
          >
            Live again
          </Button>
        )}
      </div>
      {failed !== undefined && <Problem error={failed.error} />}
      {names.length === 0 ? (
        <Empty icon="wave" title="Nothing is drawn yet">
          <p>Add messages with numbers or bools. Drag over the chart to see less of it, double-click to go back.</p>
        </Empty>
      ) : (
        <section className="card" aria-label="Chart">
          <div className="card-head">
            <h2>
              {zoom === null
                ? 'Live'
                : `${new Date(from * 1000).toLocaleString()} to ${new Date(to * 1000).toLocaleString()}`}
            </h2>
            <div className="end muted small">
              {bucket_s === null ? 'every value' : `bins of ${bucket_s} s: mean, least to most`}
            </div>
          </div>
          <div className="card-body">
            <LazyChart
              lines={lines}
              height={420}
              label={`${names.join(', ')} over time`}
              {...(isBool ? { range: [-0.05, 1.05] as const } : {})}
              onZoom={zoomed =>
                change(edited => {
                  if (zoomed === null) {
                    edited.delete('from')
                    edited.delete('to')
                    return
                  }
                  edited.set('from', zoomed[0].toFixed(3))
                  edited.set('to', zoomed[1].toFixed(3))
                })
              }
            />
          </div>
        </section>
      )}
    </Page>
  )
}
