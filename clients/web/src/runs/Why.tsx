import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import type { RunNodeWhy } from '../../../../protocol/nouns/run.ts'
import { client } from '../engine/client.ts'
import { Card } from '../parts/Card.tsx'
import { Glyph } from '../parts/Glyph.tsx'
import { Problem } from '../parts/Problem.tsx'
import { shortId } from './status.ts'

/** Why a node ran, or did not have to. */
export function Why({ run, node }: { run: string; node: string }) {
  const { data, error } = useQuery({ queryKey: ['run', run, 'why', node], queryFn: () => client.runs.why(run, node) })
  return (
    <Card title={`Why ${node}`}>
      <div className="card-body">
        {error !== null && <Problem error={error} />}
        {data !== undefined && (
          <>
            <p>
              {sentenceOf(data)}
              {data.nearest !== null && (
                <>
                  {' '}
                  The nearest run is{' '}
                  <Link className="link mono" href={`/runs/${data.nearest}`}>
                    {shortId(data.nearest)}
                  </Link>
                  .
                </>
              )}
            </p>
            {data.changed.length > 0 && (
              <ul className="r-changed">
                {data.changed.map(part => (
                  <li key={part} className="row">
                    <Glyph name="warn" />
                    <span className="mono">{part}</span> differs
                  </li>
                ))}
              </ul>
            )}
          </>
        )}
      </div>
    </Card>
  )
}

function sentenceOf({ cache, status }: RunNodeWhy): string {
  switch (cache) {
    case 'hit':
      return 'It did not run: an earlier run with the same source, settings and inputs has its outputs.'
    case 'miss':
      return status === 'running'
        ? 'It runs, because it was not in the cache.'
        : 'It ran, because it was not in the cache.'
    case 'off':
      return 'It ran, because the run or the node does not use the cache.'
    default:
      return 'It is not kept in the cache: it is of a built-in type, or its inputs were not complete when it started.'
  }
}
