import { Link } from 'wouter'
import type { WorkerResources } from '../../../../protocol/worker/resources.ts'
import { Card } from '../parts/Card.tsx'
import { bytesText, numberText } from '../parts/format.ts'
import { Meter } from '../parts/Meter.tsx'
import { Slots } from '../parts/Slots.tsx'

const SHOWN = 4

/** The books: of each machine what is held and what there is. */
export function Machines({ books: { machines } }: { books: WorkerResources }) {
  return (
    <Card
      title="Machines"
      end={
        <Link className="link small" href="/workers">
          Workers
        </Link>
      }
    >
      <ul className="list">
        {machines.slice(0, SHOWN).map(({ machine, capacity, free }) => {
          const cpus = capacity.cpus - free.cpus
          const cards = capacity.gpus - free.cards.length
          const ram_mb = capacity.ram_mb - free.ram_mb
          const memory = `${bytesText(ram_mb * 2 ** 20)} of ${bytesText(capacity.ram_mb * 2 ** 20)}`
          return (
            <li key={machine}>
              <div className="row">
                <span className="strong cut">{machine}</span>
              </div>
              <dl className="book">
                <dt>cores</dt>
                <dd>
                  <Slots held={cpus} of={capacity.cpus} label={`${numberText(cpus)} of ${capacity.cpus} cores held`} />
                </dd>
                <dd className="num">
                  {numberText(cpus)} / {capacity.cpus}
                </dd>
                {capacity.gpus > 0 && (
                  <>
                    <dt>cards</dt>
                    <dd>
                      <Slots held={cards} of={capacity.gpus} label={`${cards} of ${capacity.gpus} cards held`} />
                    </dd>
                    <dd className="num">
                      {cards} / {capacity.gpus}
                    </dd>
                  </>
                )}
                <dt>memory</dt>
                <dd>
                  <Meter share={capacity.ram_mb === 0 ? 0 : ram_mb / capacity.ram_mb} label={`memory ${memory}`} />
                </dd>
                <dd className="num">{memory}</dd>
              </dl>
            </li>
          )
        })}
      </ul>
    </Card>
  )
}
