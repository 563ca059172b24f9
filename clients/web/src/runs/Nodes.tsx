import { Link } from 'wouter'
import type { Run, RunNode } from '../../../../protocol/nouns/run.ts'
import { Card } from '../parts/Card.tsx'
import { durationText } from '../parts/format.ts'
import { Glyph } from '../parts/Glyph.tsx'
import { Scroll } from '../parts/Scroll.tsx'
import { glyphOf, shortId } from './status.ts'
import { barOf, totalSeconds } from './timing.ts'

interface NodesProps {
  readonly nodes: readonly RunNode[]
  readonly run: Run
  readonly chosen: string | null
  onChoose(node: string): void
}

/** The nodes in the order of their execution, each with where it ran, how long it waited and ran, and when in the run that was. */
export function Nodes({ nodes, run, chosen, onChoose }: NodesProps) {
  const now_ms = run.finished_at === null ? Date.now() : Date.parse(run.finished_at)
  const total_s = totalSeconds(run, now_ms)
  const counted = (status: RunNode['status']): number => nodes.filter(node => node.status === status).length
  return (
    <Card
      title="Nodes"
      count={nodes.length}
      end={
        <span className="muted small">
          {[
            [counted('cached'), 'cached'],
            [counted('succeeded'), 'ran'],
            [counted('running'), 'running'],
            [counted('failed'), 'failed'],
          ]
            .filter(([count]) => Number(count) > 0)
            .map(([count, word]) => `${count} ${word}`)
            .join(', ')}
        </span>
      }
    >
      <Scroll label="Nodes of the run">
        <table className="table">
          <thead>
            <tr>
              <th>Node</th>
              <th>Where</th>
              <th className="num only-wide">Waited</th>
              <th className="num">Ran</th>
              <th className="r-bar-cell only-wide">Within {durationText(total_s)}</th>
            </tr>
          </thead>
          <tbody>
            {nodes.map(node => {
              const bar = barOf(node, run, now_ms, total_s)
              return (
                <tr key={node.node} aria-selected={chosen === node.node}>
                  <td className="name">
                    <button type="button" className="row r-node" onClick={() => onChoose(node.node)}>
                      <Glyph name={glyphOf(node.status)} label={node.status} />
                      {node.node}
                    </button>
                  </td>
                  <td className="muted">
                    {node.cached_from === null ? (
                      (node.machine ?? '')
                    ) : (
                      <>
                        from{' '}
                        <Link className="link mono" href={`/runs/${node.cached_from}`}>
                          {shortId(node.cached_from)}
                        </Link>
                      </>
                    )}
                  </td>
                  <td className="num muted only-wide">{bar === null ? '–' : durationText(bar.waited_s)}</td>
                  <td className="num ink">{node.duration === null ? '–' : durationText(node.duration)}</td>
                  <td className="r-bar-cell only-wide">
                    {bar !== null && (
                      <span className="r-track">
                        <i className="r-wait" style={{ left: `${bar.queued * 100}%`, width: `${bar.waits * 100}%` }} />
                        <i
                          className={node.status === 'failed' ? 'r-ran r-failed' : 'r-ran'}
                          style={{ left: `${bar.starts * 100}%`, width: `${Math.max(0.4, bar.runs * 100)}%` }}
                        />
                      </span>
                    )}
                  </td>
                </tr>
              )
            })}
          </tbody>
        </table>
      </Scroll>
    </Card>
  )
}
