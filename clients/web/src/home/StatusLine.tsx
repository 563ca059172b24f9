import { type ReactNode, useEffect, useRef } from 'react'
import type { Summary } from '../../../../protocol/nouns/summary.ts'
import type { WorkerResources } from '../../../../protocol/worker/resources.ts'
import { live } from '../engine/live.ts'
import { numberText, rateText } from '../parts/format.ts'

function Fact({ name, children, isDown = false }: { name: string; children: ReactNode; isDown?: boolean }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd className={isDown ? 's-down' : undefined}>{children}</dd>
    </div>
  )
}

/** The engine in one line. Rates come once a second by the socket; the rest is read again with the page. */
export function StatusLine({ summary, books }: { summary: Summary; books: WorkerResources | null }) {
  const rate = useRef<HTMLSpanElement>(null)
  const cascades = useRef<HTMLSpanElement>(null)
  useEffect(
    () =>
      live.activity(({ per_s, cascades: { in_flight } }) => {
        if (rate.current !== null) rate.current.textContent = rateText(per_s)
        if (cascades.current !== null) cascades.current.textContent = numberText(in_flight)
      }),
    [],
  )
  const { flows, cascades: running, nodes_down, node_errors } = summary
  return (
    <dl className="facts">
      <Fact name="Flows">
        {flows.enabled} live<span className="muted"> of {numberText(flows.total)}</span>
      </Fact>
      <Fact name="Executions">
        <span ref={rate}>–</span>
        <span className="unit">/s</span>
      </Fact>
      <Fact name="Cascades in flight">
        <span ref={cascades}>{numberText(running.in_flight)}</span>
        <span className="muted"> of {numberText(running.limit)}</span>
      </Fact>
      {books !== null && (
        <Fact name="Runs">
          {books.runs.count - books.runs.free}
          <span className="muted"> of {books.runs.count} slots</span>
        </Fact>
      )}
      {books !== null && (
        <Fact name="Waiting">
          {books.waiting_count}
          <span className="muted"> {books.waiting_count === 1 ? 'node' : 'nodes'}</span>
        </Fact>
      )}
      <Fact name="Down" isDown={nodes_down > 0}>
        {nodes_down}
        <span className="muted"> {nodes_down === 1 ? 'node' : 'nodes'}</span>
      </Fact>
      <Fact name="Errors" isDown={node_errors > 0}>
        {node_errors}
        <span className="muted"> {node_errors === 1 ? 'node' : 'nodes'}</span>
      </Fact>
    </dl>
  )
}
