import type { WorkerResources } from '../../../../protocol/worker/resources.ts'
import { client } from '../engine/client.ts'
import { Machines } from '../home/Machines.tsx'
import { askedText } from '../home/Waiting.tsx'
import { Age } from '../parts/Age.tsx'
import { Card } from '../parts/Card.tsx'
import { bytesText, numberText } from '../parts/format.ts'
import { Read } from '../parts/Read.tsx'
import { Table } from '../parts/Table.tsx'
import { Page } from '../shell/Page.tsx'

const AGAIN_MS = 2_000

/** What each machine has, who holds it, and who waits for what. */
export default function Workers() {
  return (
    <Page crumbs={['Workers']}>
      <Read queryKey={['resources']} read={() => client.resources()} again_ms={AGAIN_MS}>
        {books => <Books books={books} />}
      </Read>
    </Page>
  )
}

function Books({ books }: { books: WorkerResources }) {
  const held = books.machines.flatMap(({ machine, held: holders }) => holders.map(holder => ({ machine, ...holder })))
  return (
    <div className="grid">
      <div className="column col-4">
        <Machines books={books} />
      </div>
      <div className="column col-8">
        {held.length === 0 ? (
          <Card title="Held">
            <p className="card-body muted">Nothing is held now.</p>
          </Card>
        ) : (
          <Table
            label="Held"
            rows={held}
            keyOf={({ machine, node, run, since }) => `${machine} ${node} ${run} ${since}`}
            columns={[
              { title: 'Node', cell: ({ node }) => node },
              { title: 'Run', cell: ({ run }) => <span className="mono">{run?.slice(-4) ?? 'live'}</span> },
              { title: 'Machine', cell: ({ machine }) => machine },
              { title: 'Cores', isNumber: true, cell: ({ cpus }) => numberText(cpus) },
              { title: 'Cards', isNumber: true, cell: ({ cards }) => cards.join(', ') },
              { title: 'Memory', isNumber: true, only: 'wide', cell: ({ ram_mb }) => bytesText(ram_mb * 2 ** 20) },
              { title: 'Since', isNumber: true, cell: ({ since }) => <Age at={since} /> },
            ]}
          />
        )}
        {books.waiting.length > 0 && (
          <Table
            label="Waiting"
            rows={books.waiting}
            keyOf={({ node, run, since }) => `${node} ${run} ${since}`}
            columns={[
              { title: 'Waits', cell: ({ node }) => node },
              { title: 'Run', cell: ({ run }) => <span className="mono">{run?.slice(-4) ?? 'live'}</span> },
              { title: 'For', cell: node => askedText(node) },
              { title: 'Place in line', isNumber: true, cell: ({ position }) => position },
              { title: 'Since', isNumber: true, cell: ({ since }) => <Age at={since} /> },
            ]}
          />
        )}
      </div>
    </div>
  )
}
