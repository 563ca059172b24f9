import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { client } from '../engine/client.ts'
import { Card } from '../parts/Card.tsx'
import { LazyChart } from '../parts/chart/LazyChart.tsx'
import { Problem } from '../parts/Problem.tsx'
import { smoothed } from './smoothing.ts'

const AGAIN_MS = 2_000
const SHOWN = 12

/** What the bodies of one run measured: a small chart for each name. */
export function Curves({ run, flow, isLive }: { run: string; flow: string; isLive: boolean }) {
  const [isLog, setLog] = useState(false)
  const [smoothing, setSmoothing] = useState(0)
  const { data, error } = useQuery({
    queryKey: ['run', run, 'series'],
    queryFn: () => client.metrics.series({ run }),
    refetchInterval: isLive ? AGAIN_MS : false,
  })
  const charts = useMemo(
    () =>
      (data?.items ?? []).slice(0, SHOWN).map(({ name, steps, values }, at) => ({
        name,
        line: { name, color: (at % 6) + 1, xs: steps, ys: smoothed(values, smoothing) },
      })),
    [data, smoothing],
  )
  if (error !== null) return <Problem error={error} />
  if (data === undefined || data.count === 0) return null
  return (
    <Card
      title="Curves"
      count={data.count}
      end={
        <>
          <label className="check small">
            smooth
            <input
              className="slider r-smooth"
              type="range"
              min="0"
              max="0.99"
              step="0.01"
              value={smoothing}
              onChange={event => setSmoothing(Number(event.target.value))}
            />
          </label>
          <label className="check small">
            <input type="checkbox" checked={isLog} onChange={event => setLog(event.target.checked)} /> log
          </label>
        </>
      }
      {...(data.count > SHOWN ? { foot: `${SHOWN} of ${data.count} shown` } : {})}
    >
      <div className="card-body">
        {charts.map(({ name, line }) => (
          <div key={name}>
            <p className="small strong">{name.startsWith(`${flow}.`) ? name.slice(flow.length + 1) : name}</p>
            <LazyChart lines={[line]} height={150} x="number" isLog={isLog} label={`${name} by step`} />
          </div>
        ))}
      </div>
    </Card>
  )
}
