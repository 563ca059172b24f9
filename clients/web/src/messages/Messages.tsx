import '../../look/messages.css'
import { useQuery } from '@tanstack/react-query'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useMemo, useRef, useState } from 'react'
import { Link, useSearchParams } from 'wouter'
import type { Message } from '../../../../protocol/nouns/message.ts'
import { client } from '../engine/client.ts'
import { Button } from '../parts/Button.tsx'
import { Empty } from '../parts/Empty.tsx'
import { Icon } from '../parts/Icon.tsx'
import { Loading } from '../parts/Loading.tsx'
import { Problem } from '../parts/Problem.tsx'
import { Page } from '../shell/Page.tsx'
import { MessageRow } from './MessageRow.tsx'
import { MessageSide } from './MessageSide.tsx'
import { matcherOf, type Row, rowsOf } from './tree.ts'

/** Rows are higher where they are touched; look/messages.css has the same. */
const rowPx = (): number => (matchMedia('(max-width: 719px)').matches ? 40 : 28)
const MEDIA = new Set(['image', 'audio', 'video', 'artifact'])
const WHICH = { all: 'All', set: 'Set', never: 'Never set', media: 'Media' } as const
type Which = keyof typeof WHICH

const belongs: Record<Which, (message: Message) => boolean> = {
  all: () => true,
  set: ({ version }) => version > 0,
  never: ({ version }) => version === 0,
  media: ({ dtype }) => MEDIA.has(dtype),
}

/** Every message with its latest value, alive. What is filtered and chosen is in the address. */
export default function Messages() {
  const [params, setParams] = useSearchParams()
  const { data, error, refetch } = useQuery({ queryKey: ['messages'], queryFn: () => client.messages.list() })
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set())
  const filter = params.get('filter') ?? ''
  const which = (params.get('which') ?? 'all') as Which
  const isFlat = params.has('flat')
  const chosen = params.get('message')
  const set = (name: string, value: string | null): void =>
    setParams(
      before => {
        if (value === null || value === '') before.delete(name)
        else before.set(name, value)
        return before
      },
      { replace: true },
    )
  const all = data?.items
  const rows = useMemo(
    () => rowsOf((all ?? []).filter(belongs[which] ?? belongs.all).filter(matcherOf(filter)), closed, isFlat),
    [all, which, filter, closed, isFlat],
  )
  const toggle = (flow: string): void =>
    setClosed(before => {
      const after = new Set(before)
      if (!after.delete(flow)) after.add(flow)
      return after
    })
  const message = all?.find(({ name }) => name === chosen) ?? null
  return (
    <Page crumbs={['Messages']} isBare>
      <div className={message === null ? 'msgs msgs-alone' : 'msgs'}>
        <section className="m-main" aria-label="Messages">
          <div className="filters bar">
            <div className="search grow m-find">
              <Icon name="search" />
              <input
                className="input"
                aria-label="Filter messages"
                placeholder={`${all?.length ?? ''} messages: boiler.*, *.alarm, >11`}
                value={filter}
                onChange={event => set('filter', event.target.value)}
              />
            </div>
            <span className="row end">
              <fieldset className="btn-group only-wide" aria-label="Shape">
                <button type="button" className="btn" aria-pressed={!isFlat} onClick={() => set('flat', null)}>
                  Tree
                </button>
                <button type="button" className="btn" aria-pressed={isFlat} onClick={() => set('flat', '1')}>
                  Flat
                </button>
              </fieldset>
              <Link
                className="btn"
                href={`/explorer${chosen === null ? '' : `?messages=${encodeURIComponent(chosen)}`}`}
              >
                <Icon name="wave" />
                Explore
              </Link>
            </span>
          </div>
          <fieldset className="counts" aria-label="Which">
            {(Object.keys(WHICH) as Which[]).map(key => (
              <button
                key={key}
                type="button"
                className="count-button"
                aria-pressed={which === key}
                onClick={() => set('which', key === 'all' ? null : key)}
              >
                {WHICH[key]} <b>{(all ?? []).filter(belongs[key]).length}</b>
              </button>
            ))}
          </fieldset>
          {error !== null && <Problem error={error} onRetry={() => void refetch()} />}
          {data === undefined ? (
            error === null && <Loading rows={12} />
          ) : rows.length === 0 ? (
            <NoRows hasMessages={data.count > 0} filter={filter} onAll={() => setParams({}, { replace: true })} />
          ) : (
            <Tree rows={rows} chosen={chosen} onToggle={toggle} onChoose={name => set('message', name)} />
          )}
        </section>
        {message !== null && <MessageSide message={message} onClose={() => set('message', null)} />}
      </div>
    </Page>
  )
}

function NoRows({ hasMessages, filter, onAll }: { hasMessages: boolean; filter: string; onAll: () => void }) {
  if (!hasMessages)
    return (
      <Empty icon="wave" title="No messages yet">
        <p>Messages are what the ports of nodes publish and read. They come with the first flow.</p>
      </Empty>
    )
  return (
    <Empty icon="filter" title="No message matches">
      <p>{filter === '' ? 'There is none of this kind.' : `Nothing fits “${filter}”.`}</p>
      <Button kind="main" onClick={onAll}>
        Show all
      </Button>
    </Empty>
  )
}

interface TreeProps {
  readonly rows: readonly Row[]
  readonly chosen: string | null
  onToggle(flow: string): void
  onChoose(name: string): void
}

/** Only the rows in view are in the page, and only their messages are followed. */
function Tree({ rows, chosen, onToggle, onChoose }: TreeProps) {
  const scroller = useRef<HTMLDivElement>(null)
  const [at, setAt] = useState(0)
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: rowPx,
    overscan: 8,
  })
  const choose = (index: number): void => {
    const row = rows[index]
    if (row === undefined) return
    setAt(index)
    virtual.scrollToIndex(index)
    if (row.kind === 'message') onChoose(row.message.name)
  }
  const onKeyDown = (event: React.KeyboardEvent): void => {
    const row = rows[at]
    if (event.key === 'ArrowDown') choose(Math.min(rows.length - 1, at + 1))
    else if (event.key === 'ArrowUp') choose(Math.max(0, at - 1))
    else if (event.key === 'ArrowRight' && row?.kind === 'flow' && !row.is_open) onToggle(row.name)
    else if (event.key === 'ArrowLeft' && row?.kind === 'flow' && row.is_open) onToggle(row.name)
    else if (event.key === 'Enter' && row?.kind === 'flow') onToggle(row.name)
    else return
    event.preventDefault()
  }
  return (
    <div className="card m-card">
      <div className="m-row m-head" aria-hidden="true">
        <span>Message</span>
        <span className="only-wide">dtype</span>
        <span className="num">Latest</span>
        <span className="num">Age</span>
        <span className="num only-wide">Rate</span>
        <span className="only-big">Made by</span>
      </div>
      <div
        ref={scroller}
        className="m-scroll"
        role="tree"
        aria-label="Messages"
        tabIndex={0}
        onKeyDown={onKeyDown}
        aria-activedescendant={`m-${at}`}
      >
        <div className="m-all" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map(({ key, index, start }) => (
            <MessageRow
              key={key}
              id={`m-${index}`}
              row={rows[index]!}
              top={start}
              isChosen={isChosen(rows[index]!, chosen)}
              onClick={() => {
                const row = rows[index]!
                setAt(index)
                if (row.kind === 'flow') onToggle(row.name)
                else onChoose(row.message.name)
              }}
            />
          ))}
        </div>
      </div>
    </div>
  )
}

const isChosen = (row: Row, chosen: string | null): boolean => row.kind === 'message' && row.message.name === chosen
