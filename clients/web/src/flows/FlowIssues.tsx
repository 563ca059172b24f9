import { Link } from 'wouter'
import type { Issue } from '../../../../protocol/nouns/issue.ts'
import { Age } from '../parts/Age.tsx'
import { Empty } from '../parts/Empty.tsx'
import { Glyph } from '../parts/Glyph.tsx'

/** All issues of a flow: trouble first, advice muted. */
export function FlowIssues({ flow, issues }: { flow: string; issues: readonly Issue[] }) {
  if (issues.length === 0)
    return (
      <Empty icon="check" title="Nothing needs a look">
        <p>Issues of the flow stand here: nodes that are down, failed executions, names that nothing publishes.</p>
      </Empty>
    )
  const sorted = issues.toSorted((a, b) => Number(a.advisory) - Number(b.advisory))
  return (
    <div className="page">
      <ul className="card list">
        {sorted.map(({ code, advisory, message, node, since }) => (
          <li key={`${code} ${node} ${message}`} className={advisory ? 'row muted' : 'row'}>
            <Glyph
              name={advisory ? 'advice' : code === 'node_down' ? 'down' : 'error'}
              label={advisory ? 'advice' : 'issue'}
            />
            {node !== null && (
              <Link className="strong" href={`/flows/${encodeURIComponent(flow)}?node=${encodeURIComponent(node)}`}>
                {node}
              </Link>
            )}
            <span className="grow">{message}</span>
            <span className="mono micro muted">{code}</span>
            {since !== null && <Age at={since} />}
          </li>
        ))}
      </ul>
    </div>
  )
}
