import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import type { Message } from '../../../../protocol/nouns/message.ts'
import { client } from '../engine/client.ts'
import { IconButton } from '../parts/Button.tsx'
import { LazyChart } from '../parts/chart/LazyChart.tsx'
import { Icon } from '../parts/Icon.tsx'
import { LiveValue } from '../parts/LiveValue.tsx'
import { Problem } from '../parts/Problem.tsx'
import { lineOf } from './history.ts'
import { Publish } from './Publish.tsx'

const SPAN_S = 300
const BIN_S = 2
const AGAIN_MS = 2_000
const DRAWN = new Set(['int', 'float', 'bool'])

/** One message beside the tree: its value, the last minutes, who makes it, and a form that publishes. */
export function MessageSide({ message, onClose }: { message: Message; onClose: () => void }) {
  const { name, dtype, publisher } = message
  const [flow] = name.split('.') as [string]
  return (
    <aside className="drawer m-side" aria-label={name}>
      <div className="drawer-head">
        <h2 className="cut" title={name}>
          {name}
        </h2>
        <span className="badge badge-line">{dtype}</span>
        <span className="end">
          <IconButton icon="x" label="Close" onClick={onClose} />
        </span>
      </div>
      <div className="drawer-scroll">
        <div className="pad">
          <p className="figure cut">
            <LiveValue name={name} />
          </p>
          {DRAWN.has(dtype) && <LastMinutes name={name} dtype={dtype} />}
          <p className="small">
            {publisher === null ? (
              'published from outside'
            ) : (
              <>
                made by{' '}
                <Link
                  className="link"
                  href={`/flows/${encodeURIComponent(flow)}?node=${encodeURIComponent(publisher.slice(publisher.indexOf('.') + 1))}`}
                >
                  {publisher}
                </Link>
              </>
            )}
          </p>
          <p className="row m-links">
            <Link className="btn" href={`/explorer?messages=${encodeURIComponent(name)}`}>
              <Icon name="wave" />
              Explore
            </Link>
          </p>
        </div>
        <hr />
        <div className="pad">
          <Publish name={name} dtype={dtype} />
        </div>
      </div>
    </aside>
  )
}

function LastMinutes({ name, dtype }: { name: string; dtype: string }) {
  const { data, error } = useQuery({
    queryKey: ['history', name, SPAN_S],
    queryFn: () =>
      client.messages.history(name, { since: new Date(Date.now() - SPAN_S * 1000).toISOString(), bucket_s: BIN_S }),
    refetchInterval: AGAIN_MS,
  })
  if (error !== null) return <Problem error={error} />
  if (data === undefined) return <div style={{ height: 150 }} />
  return (
    <LazyChart
      lines={[lineOf(name, data, 1)]}
      height={150}
      label={`${name}, the last five minutes`}
      {...(dtype === 'bool' ? { range: [-0.05, 1.05] as const } : {})}
    />
  )
}
