import { lazy, Suspense } from 'react'
import type { ChartProps } from './Chart.tsx'

const Chart = lazy(() => import('./Chart.tsx'))

/** A chart, whose code comes with the first one; its place is kept meanwhile. */
export function LazyChart(props: ChartProps) {
  return (
    <Suspense fallback={<div style={{ height: props.height }} />}>
      <Chart {...props} />
    </Suspense>
  )
}
