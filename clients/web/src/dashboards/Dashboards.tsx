import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useId, useState } from 'react'
import type { Panel } from '../../../../protocol/nouns/panel.ts'
import { client } from '../engine/client.ts'
import { useMay } from '../engine/session.ts'
import { Age } from '../parts/Age.tsx'
import { Button } from '../parts/Button.tsx'
import { Card } from '../parts/Card.tsx'
import { Empty } from '../parts/Empty.tsx'
import { Problem } from '../parts/Problem.tsx'
import { Read } from '../parts/Read.tsx'
import { Table } from '../parts/Table.tsx'
import { Page } from '../shell/Page.tsx'

/** The dashboards, and the panels that show them. Screens are paired and unpaired here. */
export default function Dashboards() {
  return (
    <Page crumbs={['Dashboards']}>
      <div className="grid">
        <div className="column col-7">
          <Read queryKey={['dashboards']} read={() => client.dashboards.list()}>
            {({ items }) =>
              items.length === 0 ? (
                <Empty icon="board" title="No dashboards yet">
                  <p>
                    A dashboard is a document of tiles, which panels show on their screens. Write one with{' '}
                    <span className="mono">svc dashboards put</span>.
                  </p>
                </Empty>
              ) : (
                <Table
                  label="Dashboards"
                  rows={items}
                  keyOf={({ name }) => name}
                  columns={[
                    { title: 'Name', cell: ({ name }) => name },
                    { title: 'Tiles', isNumber: true, cell: ({ tiles }) => tiles },
                    { title: 'Version', isNumber: true, cell: ({ version }) => version },
                    { title: 'Panels', only: 'wide', cell: ({ panels }) => panels.join(', ') },
                    { title: 'By', only: 'wide', cell: ({ updated_by }) => updated_by },
                    { title: 'Saved', isNumber: true, cell: ({ updated_at }) => <Age at={updated_at} /> },
                  ]}
                />
              )
            }
          </Read>
        </div>
        <div className="column col-5">
          <Read queryKey={['panels']} read={() => client.panels.list()} again_ms={5_000}>
            {({ items }) => (
              <>
                <Pair panels={items} />
                {items.length > 0 && <Panels panels={items} />}
              </>
            )}
          </Read>
        </div>
      </div>
    </Page>
  )
}

function Pair({ panels }: { panels: readonly Panel[] }) {
  const mayPair = [useMay('edit'), useMay('publish')].every(Boolean)
  const queries = useQueryClient()
  const id = useId()
  const [code, setCode] = useState('')
  const [panel, setPanel] = useState('')
  const approve = useMutation({
    mutationFn: () => client.panels.approve(panel || panels[0]!.id, code.trim().toUpperCase()),
    onSuccess: () => {
      setCode('')
      return queries.invalidateQueries({ queryKey: ['panels'] })
    },
  })
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    approve.mutate()
  }
  return (
    <Card title="Pair a screen">
      <div className="card-body">
        {panels.length === 0 ? (
          <p className="muted">
            There is no panel yet. Create one with <span className="mono">svc panels create</span>, and open{' '}
            <span className="mono">/panel</span> on the screen.
          </p>
        ) : (
          <form className="filters" onSubmit={submit}>
            <div className="field">
              <label htmlFor={`${id}-code`}>Code on the screen</label>
              <input
                className="input mono"
                id={`${id}-code`}
                value={code}
                maxLength={6}
                autoComplete="off"
                disabled={!mayPair}
                onChange={event => setCode(event.target.value)}
              />
            </div>
            <div className="field">
              <label htmlFor={`${id}-panel`}>Panel</label>
              <select
                className="select"
                id={`${id}-panel`}
                value={panel}
                disabled={!mayPair}
                onChange={event => setPanel(event.target.value)}
              >
                {panels.map(one => (
                  <option key={one.id} value={one.id}>
                    {one.name}
                  </option>
                ))}
              </select>
            </div>
            <Button type="submit" kind="main" disabled={!mayPair || code.trim().length !== 6 || approve.isPending}>
              Pair
            </Button>
          </form>
        )}
        {approve.error !== null && <Problem error={approve.error} />}
        {approve.isSuccess && <p role="status">Approved: the screen shows its panel in a moment.</p>}
      </div>
    </Card>
  )
}

function Panels({ panels }: { panels: readonly Panel[] }) {
  const mayEdit = useMay('edit')
  const queries = useQueryClient()
  const unpair = useMutation({
    mutationFn: (id: string) => client.panels.unpair(id),
    onSettled: () => queries.invalidateQueries({ queryKey: ['panels'] }),
  })
  return (
    <>
      {unpair.error !== null && <Problem error={unpair.error} />}
      <Table
        label="Panels"
        rows={panels}
        keyOf={({ id }) => id}
        columns={[
          { title: 'Panel', cell: ({ name }) => name },
          { title: 'Shows', only: 'wide', cell: ({ dashboards }) => dashboards.join(', ') },
          { title: 'Screens', isNumber: true, cell: ({ connected }) => connected },
          {
            title: 'Paired',
            cell: ({ id, name, paired }) =>
              paired ? (
                <Button
                  disabled={!mayEdit || unpair.isPending}
                  aria-label={`Unpair ${name}`}
                  onClick={() => unpair.mutate(id)}
                >
                  Unpair
                </Button>
              ) : (
                <span className="muted">no</span>
              ),
          },
        ]}
      />
    </>
  )
}
