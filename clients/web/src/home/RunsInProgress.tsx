import { Link } from 'wouter'
import type { RunSummary } from '../../../../protocol/nouns/run.ts'
import { Age } from '../parts/Age.tsx'
import { Card } from '../parts/Card.tsx'
import { Glyph } from '../parts/Glyph.tsx'

/** The runs that execute now. A run goes by the last four characters of its id: the first ones are its time. */
export function RunsInProgress({ runs }: { runs: readonly RunSummary[] }) {
  return (
    <Card
      title="Runs in progress"
      count={runs.length}
      end={
        <Link className="link small" href="/runs">
          All runs
        </Link>
      }
    >
      {runs.length === 0 ? (
        <p className="card-body muted">No run executes now.</p>
      ) : (
        <ul className="list">
          {runs.map(({ id, flow, created_at, group }) => (
            <li key={id} className="row">
              <Glyph name="running" label="running" />
              <Link className="strong cut" href={`/runs/${id}`}>
                {flow}
              </Link>
              <span className="muted mono">{id.slice(-4)}</span>
              <span className="muted small cut grow">{group}</span>
              <span className="num small muted">
                <Age at={created_at} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </Card>
  )
}
