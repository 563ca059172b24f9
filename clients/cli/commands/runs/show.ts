import type { Command } from 'commander'
import type { Run, RunNode } from '../../../../protocol/nouns/run.ts'
import { recordedError } from '../../command-hints.ts'
import { type Context, connect } from '../../context.ts'
import { duration } from '../../output/figures.ts'
import type { Output } from '../../output/output.ts'
import { resultTable, statusText, took, valueText } from '../../output/run-text.ts'
import { table } from '../../output/table.ts'
import { printable } from '../../output/text.ts'
import { waitsFor } from '../../output/waiting.ts'

export function addRunsShow(runs: Command, context: Context): void {
  runs
    .command('show')
    .description('show a run: its inputs, its nodes, its results')
    .argument('<run>', 'its id, or the short id from the list')
    .option('--json', 'print the run with its nodes as JSON')
    .action(async (id: string, options: { json?: boolean }, command: Command) => {
      const { output } = context
      const client = connect(context, command)
      const [run, nodes] = await Promise.all([client.runs.get(id), client.runs.nodes(id)])
      const isWaited = run.status === 'running' && nodes.items.some(({ status }) => status === 'queued')
      if (options.json) return output.json({ ...run, nodes: nodes.items })
      output.lines(figures(output, run))
      if (nodes.items.length > 0) {
        output.lines([''])
        const resources = isWaited ? await client.resources(run.id) : { waiting: [] }
        output.table(nodesTable(nodes.items, node => waitsFor(node, run.flow, run.id, resources), output.width))
      }
      if (run.result === null || Object.keys(run.result).length === 0) return
      output.lines([''])
      output.table(resultTable(run, output.width))
    })
}

function figures(output: Output, run: Run): string[] {
  const { error } = run
  const lines: [string, string | null][] = [
    ['run', run.id],
    ['flow', `${run.flow} version ${run.version}, commit ${run.commit}`],
    ['status', `${run.status}${run.duration === null ? '' : ` in ${took(run)}`}`],
    ['error', error && `${error.node === null ? '' : `${error.node}: `}${recordedError(error)}`],
    ['created', `${run.created_at} by ${run.created_by} (${run.cause})`],
    ['started', run.started_at],
    ['finished', run.finished_at],
    ['group', run.group],
    ['tags', run.tags.length === 0 ? null : run.tags.join(', ')],
    ['note', run.note === '' ? null : run.note],
    ['key', run.idempotency_key],
    ['retry of', run.retry_of && `${run.retry_of}, attempt ${run.attempt}`],
    ['seed', run.seed === null ? null : String(run.seed)],
    ['timeout', run.timeout === null ? null : duration(run.timeout)],
    ['cache', run.no_cache ? 'off' : null],
    ['code', run.code_digest],
    ['origin', run.origin_commit],
    ...Object.entries(run.inputs_resolved).map(([name, value]): [string, string] => [`  ${name}`, valueText(value)]),
  ]
  const told = lines.filter((line): line is [string, string] => line[1] !== null)
  const columns = Math.max(...told.map(([name]) => name.length)) + 2
  return told
    .map(([name, text]) => `${name.padEnd(columns)}${printable(text)}`)
    .map(line => (line.startsWith('status') ? line.replace(run.status, statusText(output, run.status)) : line))
}

const nodesTable = (nodes: readonly RunNode[], waits: (node: RunNode) => string, width: number | undefined): string[] =>
  table(
    nodes,
    [
      { title: 'node', cell: ({ node }) => node },
      { title: 'status', cell: ({ status }) => status },
      { title: 'calls', align: 'right', cell: ({ executions }) => String(executions) },
      { title: 'took', align: 'right', cell: node => took(node) },
      { title: 'machine', cell: ({ machine }) => machine ?? '' },
      {
        title: 'what',
        cell: node => {
          const { cached_from, error } = node
          if (cached_from !== null) return `from ${cached_from}`
          return error === null ? waits(node) : recordedError(error)
        },
      },
    ],
    width,
  )
