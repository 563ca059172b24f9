import '../../look/runs.css'
import { useQueries } from '@tanstack/react-query'
import { useMemo } from 'react'
import { Link, useSearchParams } from 'wouter'
import type { Run } from '../../../../protocol/nouns/run.ts'
import { client } from '../engine/client.ts'
import { LazyChart } from '../parts/chart/LazyChart.tsx'
import { Empty } from '../parts/Empty.tsx'
import { durationText, valueText } from '../parts/format.ts'
import { Problem } from '../parts/Problem.tsx'
import { Table } from '../parts/Table.tsx'
import { Page } from '../shell/Page.tsx'
import { differing } from './differing.ts'
import { shortId } from './status.ts'

const CHARTS = 8

/** Several runs beside each other: what differs in inputs, code and numbers, and their curves on one chart each. */
export default function Compare() {
  const [params] = useSearchParams()
  const ids = params.getAll('run')
  const runs = useQueries({ queries: ids.map(id => ({ queryKey: ['run', id], queryFn: () => client.runs.get(id) })) })
  const series = useQueries({
    queries: ids.map(id => ({ queryKey: ['run', id, 'series'], queryFn: () => client.metrics.series({ run: id }) })),
  })
  const read = runs.flatMap(({ data }) => (data === undefined ? [] : [data]))
  const failed = [...runs, ...series].find(({ error }) => error !== null)
  const stamp = series.map(({ dataUpdatedAt }) => dataUpdatedAt).join()
  // biome-ignore lint/correctness/useExhaustiveDependencies: `stamp` says when one of them is another
  const charts = useMemo(() => {
    const by_name = Map.groupBy(
      series.flatMap(({ data }, at) => (data?.items ?? []).map(item => ({ ...item, at }))),
      ({ name }) => name,
    )
    return [...by_name].slice(0, CHARTS).map(([name, items]) => ({
      name,
      lines: items.map(({ run, steps, values, at }) => ({
        name: shortId(run),
        color: (at % 6) + 1,
        xs: steps,
        ys: values,
      })),
    }))
  }, [stamp])
  return (
    <Page crumbs={[{ name: 'Runs', path: '/runs' }, 'Compare']}>
      {failed !== undefined && <Problem error={failed.error} />}
      {ids.length < 2 ? (
        <Empty icon="compare" title="Choose two runs or more">
          <p>Mark them in the list of runs, then compare.</p>
          <Link className="btn btn-main" href="/runs">
            To the runs
          </Link>
        </Empty>
      ) : (
        <div className="column">
          <Differences runs={read} />
          <div className="grid">
            {charts.map(({ name, lines }) => (
              <section key={name} className="card col-6" aria-label={name}>
                <div className="card-head">
                  <h2 className="cut">{name}</h2>
                  <ul className="legend end">
                    {lines.map(line => (
                      <li key={line.name}>
                        <i className={`key k${line.color}`} /> {line.name}
                      </li>
                    ))}
                  </ul>
                </div>
                <div className="card-body">
                  <LazyChart lines={lines} height={220} x="number" label={`${name} by step, of ${lines.length} runs`} />
                </div>
              </section>
            ))}
          </div>
        </div>
      )}
    </Page>
  )
}

function Differences({ runs }: { runs: readonly Run[] }) {
  const rows = [
    ...differing(runs.map(({ inputs_resolved }) => inputs_resolved)).map(name => ({
      ...{ kind: 'input', name, of: ({ inputs_resolved }: Run) => inputs_resolved[name] },
    })),
    ...differing(runs.map(({ result }) => result ?? {})).map(name => ({
      ...{ kind: 'result', name, of: ({ result }: Run) => result?.[name] },
    })),
    ...(['status', 'version', 'code_digest', 'seed'] as const)
      .filter(name => new Set(runs.map(run => run[name])).size > 1)
      .map(name => ({ kind: 'run', name, of: (run: Run) => run[name] as unknown })),
  ]
  return (
    <Table
      label="What differs"
      rows={[
        ...rows,
        {
          kind: 'run',
          name: 'took',
          of: (run: Run): unknown => (run.duration === null ? null : durationText(run.duration)),
        },
      ]}
      keyOf={({ kind, name }) => `${kind} ${name}`}
      columns={[
        { title: 'Differs', cell: ({ name }) => name },
        { title: 'Of', cell: ({ kind }) => <span className="muted">{kind}</span> },
        ...runs.map(run => ({
          title: shortId(run.id),
          isNumber: true,
          cell: (row: (typeof rows)[number]) => valueText(row.of(run), 40).replace(/^“|”$/g, ''),
        })),
      ]}
    />
  )
}
