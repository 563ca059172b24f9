import { client } from '../engine/client.ts'
import { Age } from '../parts/Age.tsx'
import { Empty } from '../parts/Empty.tsx'
import { bytesText } from '../parts/format.ts'
import { Read } from '../parts/Read.tsx'
import { Table } from '../parts/Table.tsx'
import { Page } from '../shell/Page.tsx'

const SHOWN = 500

/** Stored bytes, the newest first. They have no names: messages and runs refer to them by their digests. */
export default function Artifacts() {
  return (
    <Page crumbs={['Artifacts']}>
      <Read queryKey={['artifacts']} read={() => client.artifacts.list(SHOWN)}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty icon="box" title="No artifacts yet">
              <p>Pictures, sounds, models and other bytes that bodies store, or that are put there by hand.</p>
            </Empty>
          ) : (
            <Table
              label="Artifacts"
              rows={items}
              keyOf={({ digest }) => digest}
              columns={[
                {
                  title: 'Digest',
                  cell: ({ digest }) => (
                    <a className="link mono" href={`/artifacts/${digest}`} download>
                      {digest.slice(7, 23)}
                    </a>
                  ),
                },
                { title: 'Size', isNumber: true, cell: ({ size }) => bytesText(size) },
                { title: 'Stored', isNumber: true, cell: ({ written_at }) => <Age at={written_at} /> },
              ]}
            />
          )
        }
      </Read>
    </Page>
  )
}
