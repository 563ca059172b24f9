import { useState } from 'react'
import { Link } from 'wouter'
import type { FlowSummary } from '../../../../protocol/nouns/flow.ts'
import type { FlowActivity } from '../../../../protocol/socket/activity.ts'
import { useActivity } from '../engine/activity.ts'
import { Card } from '../parts/Card.tsx'
import { durationText, rateText } from '../parts/format.ts'
import { Glyph, type GlyphName } from '../parts/Glyph.tsx'
import { Icon } from '../parts/Icon.tsx'
import { Meter } from '../parts/Meter.tsx'
import { Scroll } from '../parts/Scroll.tsx'
import { Spark } from '../parts/Spark.tsx'
import { troubleOf } from './attention.ts'

const SHOWN = 50
const FULL = 0.5

/** Flows by name with their rates; the order never changes under the eye. */
export function FlowRates({ flows }: { flows: readonly FlowSummary[] }) {
  const [filter, setFilter] = useState('')
  const activity = useActivity()
  const matching = flows.filter(({ name }) => name.toLowerCase().includes(filter.toLowerCase()))
  const shown = matching.slice(0, SHOWN)
  return (
    <Card
      title="Flows"
      count={flows.length}
      end={
        <div className="search filter only-wide">
          <Icon name="search" />
          <input
            className="input"
            aria-label="Filter flows"
            placeholder="Filter"
            value={filter}
            onChange={event => setFilter(event.target.value)}
          />
        </div>
      }
      {...(matching.length > SHOWN
        ? { foot: <Link className="link" href="/flows">{`All ${matching.length} flows`}</Link> }
        : {})}
    >
      <Scroll label="Rates of flows">
        <table className="table flows">
          <thead>
            <tr>
              <th>
                <span className="sr">State</span>
              </th>
              <th aria-sort="ascending">Name</th>
              <th className="num only-wide">Nodes</th>
              <th className="num">Executions</th>
              <th>Last minute</th>
              <th className="num only-wide">p99</th>
              <th className="only-wide">Queue</th>
              <th>What is wrong</th>
            </tr>
          </thead>
          <tbody>
            {shown.map(flow => (
              <Row key={flow.name} flow={flow} activity={activity.get(flow.name) ?? null} />
            ))}
          </tbody>
        </table>
      </Scroll>
    </Card>
  )
}

function Row({ flow, activity }: { flow: FlowSummary; activity: FlowActivity | null }) {
  const { name, nodes, enabled } = flow
  const trouble = troubleOf(flow)
  const share = activity?.share ?? 0
  const state: GlyphName = !enabled
    ? 'off'
    : trouble !== null
      ? trouble.kind === 'advice'
        ? 'live'
        : trouble.kind
      : share >= FULL
        ? 'warn'
        : 'live'
  return (
    <tr>
      <td>
        <Glyph name={state} label={!enabled ? 'disabled' : (trouble?.text ?? 'live')} />
      </td>
      <td className="name">
        <Link href={`/flows/${encodeURIComponent(name)}`} className="cut" title={name}>
          {name}
        </Link>
      </td>
      <td className="num muted only-wide">{nodes}</td>
      <td className="num ink">
        {activity === null ? '–' : rateText(activity.per_s)}
        <span className="unit">/s</span>
      </td>
      <td>
        <Spark values={activity?.last_minute ?? []} label="executions in the last minute" />
      </td>
      <td className="num only-wide">{activity?.p99_s == null ? '–' : durationText(activity.p99_s)}</td>
      <td className="only-wide">
        <span className="queue">
          <Meter
            share={share}
            label={`queue ${Math.round(share * 100)} percent full`}
            {...(share >= FULL ? { kind: 'warn' as const } : {})}
          />
          <span className="num micro muted">{Math.round(share * 100)} %</span>
        </span>
      </td>
      <td className={`cut state-cell ${trouble === null ? 'muted' : `s-${trouble.kind}`}`}>
        {!enabled ? 'disabled' : trouble === null ? '' : trouble.text}
        {trouble !== null && trouble.nodes.length > 0 && (
          <span className="muted"> · {trouble.nodes.slice(0, 3).join(', ')}</span>
        )}
      </td>
    </tr>
  )
}
