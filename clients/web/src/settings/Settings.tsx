import { Link, useParams } from 'wouter'
import { client } from '../engine/client.ts'
import { useMay, useSession } from '../engine/session.ts'
import { Age } from '../parts/Age.tsx'
import { Card } from '../parts/Card.tsx'
import { bytesText, durationText, numberText } from '../parts/format.ts'
import { Read } from '../parts/Read.tsx'
import { Table } from '../parts/Table.tsx'
import { Page } from '../shell/Page.tsx'

const PARTS = [
  ['', 'Engine'],
  ['users', 'Users'],
  ['clients', 'Clients'],
  ['secrets', 'Secrets'],
  ['flavors', 'Flavors'],
] as const

/** What is set up seldom. What the page shows is changed with the command line, whose command stands beside it. */
export default function Settings() {
  const { part = '' } = useParams<{ part?: string }>()
  const isSuperuser = useMay('admin')
  const title = PARTS.find(([key]) => key === part)?.[1] ?? 'Engine'
  return (
    <Page crumbs={part === '' ? ['Settings'] : [{ name: 'Settings', path: '/settings' }, title]}>
      <nav className="tabs bar" aria-label="Parts of the settings">
        {PARTS.map(([key, name]) => (
          <Link
            key={key}
            className="tab"
            href={key === '' ? '/settings' : `/settings/${key}`}
            aria-current={part === key ? 'page' : undefined}
          >
            {name}
          </Link>
        ))}
      </nav>
      {!isSuperuser && part !== '' && part !== 'flavors' ? (
        <p className="notice">Only superusers see this.</p>
      ) : part === 'users' ? (
        <Users />
      ) : part === 'clients' ? (
        <Clients />
      ) : part === 'secrets' ? (
        <Secrets />
      ) : part === 'flavors' ? (
        <Flavors />
      ) : (
        <Engine />
      )}
    </Page>
  )
}

function Hint({ command }: { command: string }) {
  return (
    <p className="hint bar">
      Changed with <span className="mono">{command}</span>.
    </p>
  )
}

function Engine() {
  const user = useSession(state => state.user)
  return (
    <Read queryKey={['summary']} read={() => client.status()} again_ms={5_000}>
      {({ version, started_at, uptime_s, memory, front, threads, status }) => (
        <Card title="Engine">
          <div className="card-body">
            <dl className="dl">
              <dt>Version</dt>
              <dd>{version}</dd>
              <dt>State</dt>
              <dd>{status}</dd>
              <dt>Runs since</dt>
              <dd>
                {new Date(started_at).toLocaleString()}, {durationText(uptime_s)}
              </dd>
              <dt>Memory</dt>
              <dd>{bytesText(memory.rss_bytes)}</dd>
              <dt>Threads</dt>
              <dd>{threads.length}</dd>
              <dt>Front thread held</dt>
              <dd>
                {numberText(front.held)} times, {numberText(front.longest_ms)} ms at most
              </dd>
              <dt>Signed in as</dt>
              <dd>
                {user?.name}, {user?.role}
              </dd>
            </dl>
          </div>
        </Card>
      )}
    </Read>
  )
}

function Users() {
  return (
    <>
      <Hint command="svc users" />
      <Read queryKey={['users']} read={() => client.users.list()}>
        {({ items }) => (
          <Table
            label="Users"
            rows={items}
            keyOf={({ name }) => name}
            columns={[
              { title: 'Name', cell: ({ name }) => name },
              { title: 'Role', cell: ({ role }) => <span className="scope">{role}</span> },
              { title: 'Shown as', only: 'wide', cell: ({ display_name }) => display_name },
              { title: 'Mail', only: 'wide', cell: ({ mail }) => mail },
              { title: 'State', cell: ({ disabled }) => (disabled ? 'disabled' : '') },
              { title: 'Since', isNumber: true, cell: ({ created_at }) => <Age at={created_at} /> },
            ]}
          />
        )}
      </Read>
    </>
  )
}

function Clients() {
  return (
    <>
      <Hint command="svc clients" />
      <Read queryKey={['clients']} read={() => client.clients.list()}>
        {({ items }) => (
          <Table
            label="Clients"
            rows={items}
            keyOf={({ client_id }) => client_id}
            columns={[
              { title: 'Name', cell: ({ name }) => name },
              {
                title: 'May',
                cell: ({ scopes }) =>
                  scopes.map(scope => (
                    <span
                      key={scope}
                      className={scope === 'code' || scope === 'admin' ? 'scope scope-strong' : 'scope'}
                    >
                      {scope}
                    </span>
                  )),
              },
              { title: 'For', cell: ({ owner }) => owner ?? 'waits to be let in' },
              {
                title: 'Last used',
                isNumber: true,
                cell: ({ last_used }) => (last_used === null ? 'never' : <Age at={last_used} />),
              },
            ]}
          />
        )}
      </Read>
    </>
  )
}

function Secrets() {
  return (
    <>
      <Hint command="svc secrets" />
      <Read queryKey={['secrets']} read={() => client.secrets.list()}>
        {({ items }) => (
          <Table
            label="Secrets"
            rows={items}
            keyOf={({ name }) => name}
            columns={[
              { title: 'Name', cell: ({ name }) => name },
              { title: 'Used by', cell: ({ used_by }) => used_by.join(', ') },
              { title: 'Set by', cell: ({ updated_by }) => updated_by },
              { title: 'Set', isNumber: true, cell: ({ updated_at }) => <Age at={updated_at} /> },
            ]}
          />
        )}
      </Read>
    </>
  )
}

function Flavors() {
  return (
    <>
      <Hint command="svc flavors" />
      <Read queryKey={['flavors']} read={() => client.flavors.list()}>
        {({ items }) => (
          <Table
            label="Flavors"
            rows={items}
            keyOf={({ name }) => name}
            columns={[
              { title: 'Name', cell: ({ name }) => name },
              { title: 'Cores', isNumber: true, cell: ({ cpus }) => cpus },
              { title: 'Cards', isNumber: true, cell: ({ gpus }) => gpus },
            ]}
          />
        )}
      </Read>
    </>
  )
}
