import { Link } from 'wouter'
import type { WorkerResources } from '../../../../protocol/worker/resources.ts'
import { Age } from '../parts/Age.tsx'
import { Card } from '../parts/Card.tsx'
import { bytesText, numberText } from '../parts/format.ts'
import { Glyph } from '../parts/Glyph.tsx'

const SHOWN = 5
type WaitingNode = WorkerResources['waiting'][number]

/** What a node asks for, in words. */
export function askedText({ needs, device }: Pick<WaitingNode, 'needs' | 'device'>): string {
  const { gpus, cpus, ram_mb } = needs
  const parts = [
    gpus ? `${gpus} ${gpus === 1 ? 'card' : 'cards'}` : '',
    cpus ? `${numberText(cpus)} ${cpus === 1 ? 'core' : 'cores'}` : '',
    ram_mb ? `${bytesText(ram_mb * 2 ** 20)} of memory` : '',
  ].filter(part => part !== '')
  const where = device === null ? '' : `, on a machine that carries ${device}`
  return `Asks for ${parts.length === 0 ? 'a place' : parts.join(', ')}${where}`
}

/** Who waits, for what, and who is before it. Not there when nobody waits. */
export function Waiting({ books: { waiting, waiting_count } }: { books: WorkerResources }) {
  if (waiting_count === 0) return null
  return (
    <Card
      title="Waiting"
      count={waiting_count}
      end={
        <Link className="link small" href="/workers">
          Who holds what
        </Link>
      }
    >
      <ul className="list">
        {waiting.slice(0, SHOWN).map(node => (
          <li key={`${node.node} ${node.run} ${node.since}`}>
            <div className="row">
              <Glyph name="waiting" label="waits" />
              <span className="strong cut">{node.node}</span>
              {node.run !== null && <span className="muted mono">{node.run.slice(-4)}</span>}
              <span className="num muted small grow">
                <Age at={node.since} />
              </span>
            </div>
            <p className="small">
              {askedText(node)}; {node.position === 1 ? 'the next in line' : `${node.position - 1} before it`}.
            </p>
          </li>
        ))}
      </ul>
    </Card>
  )
}
