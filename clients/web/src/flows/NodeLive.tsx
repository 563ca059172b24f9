import { useQuery } from '@tanstack/react-query'
import type { FlowNode } from '../../../../protocol/nouns/flow-document.ts'
import type { Latencies } from '../../../../protocol/nouns/node.ts'
import { client } from '../engine/client.ts'
import { durationText, numberText } from '../parts/format.ts'
import { LiveValue } from '../parts/LiveValue.tsx'
import { Problem } from '../parts/Problem.tsx'
import { Scroll } from '../parts/Scroll.tsx'

const AGAIN_MS = 2_000

/** What the node reads and makes now, and how long that takes. */
export function NodeLive({ flow, node }: { flow: string; node: FlowNode }) {
  const { data, error } = useQuery({
    queryKey: ['node', `${flow}.${node.id}`],
    queryFn: () => client.nodes.get(`${flow}.${node.id}`),
    refetchInterval: AGAIN_MS,
  })
  const ports = [...(node.ports.inputs ?? []), ...(node.ports.outputs ?? [])]
  return (
    <Scroll className="flow-tab" label="Live values and latencies">
      <div className="stack">
        {error !== null && <Problem error={error} />}
        {data?.down != null && <p className="notice notice-error">{data.down}</p>}
        <dl className="dl">
          {ports.map(({ name, message }) => [
            <dt key={`${name} name`}>{name}</dt>,
            <dd key={name} className="cut">
              <LiveValue name={(message ?? name).includes('.') ? (message ?? name) : `${flow}.${message ?? name}`} />
            </dd>,
          ])}
        </dl>
        {data !== undefined && (
          <>
            <dl className="facts">
              <div>
                <dt>Executions</dt>
                <dd>{numberText(data.executions)}</dd>
              </div>
              <div>
                <dt>Errors</dt>
                <dd>{numberText(data.errors)}</dd>
              </div>
              <div>
                <dt>Runs in</dt>
                <dd>{data.placement === 'dispatch' ? 'a call slot or process' : data.place}</dd>
              </div>
            </dl>
            <LatencyTable
              latencies={data.last_minute ?? data.since_start}
              title={data.last_minute === null ? 'since the start' : 'last minute'}
            />
          </>
        )}
      </div>
    </Scroll>
  )
}

function LatencyTable({ latencies, title }: { latencies: Latencies; title: string }) {
  return (
    <table className="table table-s">
      <caption className="sr">Latencies, {title}</caption>
      <thead>
        <tr>
          <th>{title}</th>
          <th className="num">p50</th>
          <th className="num">p90</th>
          <th className="num">p99</th>
        </tr>
      </thead>
      <tbody>
        {(['wait', 'execution', 'total'] as const).map(kind => (
          <tr key={kind}>
            <td>{kind}</td>
            {(['p50_s', 'p90_s', 'p99_s'] as const).map(quantile => (
              <td key={quantile} className="num ink">
                {latencies[kind] === null ? '–' : durationText(latencies[kind][quantile])}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}
