import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import type { FlowSummary } from '../../../../protocol/nouns/flow.ts'
import { client } from '../engine/client.ts'
import { Age } from '../parts/Age.tsx'
import { Empty } from '../parts/Empty.tsx'
import { Glyph } from '../parts/Glyph.tsx'
import { Loading } from '../parts/Loading.tsx'
import { Problem } from '../parts/Problem.tsx'
import { Scroll } from '../parts/Scroll.tsx'
import { Page } from '../shell/Page.tsx'

export default function Flows() {
  const { data, error, refetch } = useQuery({ queryKey: ['flows'], queryFn: () => client.flows.list() })
  return (
    <Page crumbs={['Flows']}>
      {error !== null && <Problem error={error} onRetry={() => void refetch()} />}
      {data === undefined ? error === null && <Loading /> : <FlowTable flows={data.items} />}
    </Page>
  )
}

function FlowTable({ flows }: { flows: readonly FlowSummary[] }) {
  if (flows.length === 0)
    return (
      <Empty icon="flow" title="No flows yet">
        <p>A flow is a set of nodes that are wired together by messages.</p>
      </Empty>
    )
  return (
    <Scroll className="card table-wrap" label="Flows">
      <table className="table">
        <thead>
          <tr>
            <th>
              <span className="sr">State</span>
            </th>
            <th>Name</th>
            <th className="num">Nodes</th>
            <th className="num">Version</th>
            <th>Saved</th>
            <th>By</th>
          </tr>
        </thead>
        <tbody>
          {flows.map(flow => (
            <tr key={flow.name}>
              <td>
                <FlowGlyph flow={flow} />
              </td>
              <td className="name">
                <Link href={`/flows/${encodeURIComponent(flow.name)}`}>{flow.name}</Link>
              </td>
              <td className="num muted">{flow.nodes}</td>
              <td className="num muted">{flow.version}</td>
              <td className="muted">
                <Age at={flow.updated_at} />
              </td>
              <td className="muted cut">{flow.updated_by}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  )
}

function FlowGlyph({ flow: { enabled, issues } }: { flow: FlowSummary }) {
  if (!enabled) return <Glyph name="off" label="disabled" />
  if (issues.some(({ advisory }) => !advisory)) return <Glyph name="error" label="has issues" />
  return <Glyph name="live" label="live" />
}
