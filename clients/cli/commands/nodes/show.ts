import type { Command } from 'commander'
import type { Latencies, NodeDetail, NodeWire, Quantiles } from '../../../../protocol/nouns/node.ts'
import type { NodeError } from '../../../../protocol/nouns/node-error.ts'
import { inCommands } from '../../command-hints.ts'
import { type Context, connect } from '../../context.ts'
import { count, latency, shortTime } from '../../output/figures.ts'
import { table } from '../../output/table.ts'
import { printable } from '../../output/text.ts'

const ERRORS_SHOWN = 5

export function addNodesShow(nodes: Command, context: Context): void {
  nodes
    .command('show')
    .description('show a live node: latencies of the node and its wires, counts, last errors')
    .argument('<flow.node>', 'the node')
    .option('--json', 'print the node with its errors as JSON')
    .action(async (name: string, options: { json?: boolean }, command: Command) => {
      const { output } = context
      const client = connect(context, command)
      const [node, errors] = await Promise.all([client.nodes.get(name), client.nodes.errors(name)])
      if (options.json) return output.json({ ...node, last_errors: errors.items })
      output.lines(figures(node))
      output.lines([''])
      output.table(latencyTable(rowsOf('', node.since_start, node.last_minute), output.width))
      if (node.wires.length > 0) {
        output.lines([''])
        output.table(wiresTable(node, output.width))
      }
      // A single wire has the same latencies as the node.
      if (node.wires.filter(({ trigger }) => trigger).length > 1) {
        output.lines([''])
        output.table(latencyTable(node.wires.flatMap(wireRows), output.width))
      }
      if (errors.items.length === 0) return
      output.lines([''])
      output.table(errorsTable(errors.items.slice(0, ERRORS_SHOWN), output.width))
    })
}

/** Where nodes run that no lane runs. */
const PLACES: Partial<Record<NodeDetail['place'], string>> = {
  timer: 'by the timer',
  connectors: 'in the connectors thread',
  front: 'on the front thread',
}

function figures(node: NodeDetail): string[] {
  const {
    name,
    type,
    place,
    placement,
    executions,
    errors,
    waiting_for_input,
    dropped,
    down,
    down_since,
    target,
    minute,
  } = node
  const runs = PLACES[place] ?? (placement === 'inline' ? 'on its lane' : 'in a call slot')
  const lines: [string, string][] = [
    ['node', name],
    ['type', `${type}, runs ${runs}`],
    ['executions', `${executions}, ${errors} failed; ${waiting_for_input} not run: an input had no value`],
    ['minute', minute === null ? 'not complete yet' : `${shortTime(minute.since)} to ${shortTime(minute.until)}`],
  ]
  if (dropped > 0) lines.push(['dropped', `${dropped} values or messages`])
  for (const [gauge, value] of Object.entries(node.gauges)) lines.push(['gauge', `${gauge} ${value}`])
  if (target !== null) lines.push(['target', target])
  if (down !== null) lines.push(['down', `${down_since === null ? '' : `since ${shortTime(down_since)}: `}${down}`])
  else if (place === 'connectors') lines.push(['state', 'ok'])
  return lines.map(([title, text]) => `${title.padEnd(12)}${printable(text)}`)
}

interface LatencyRow {
  readonly latency: string
  readonly over: 'all' | 'minute'
  readonly quantiles: Quantiles | null
  /** Empty for the node itself. */
  readonly port: string
}

const rowsOf = (port: string, since_start: Latencies, last_minute: Latencies | null): LatencyRow[] =>
  (['wait', 'execution', 'total'] as const).flatMap(latency => [
    { latency, over: 'all', quantiles: since_start[latency], port },
    { latency, over: 'minute', quantiles: last_minute?.[latency] ?? null, port },
  ])

const wireRows = ({ port, since_start, last_minute }: NodeWire): LatencyRow[] =>
  since_start === null ? [] : rowsOf(port, since_start, last_minute)

/** Long texts are in the last column, which is cut to the width. */
function latencyTable(rows: readonly LatencyRow[], width: number | undefined): string[] {
  const seconds = (title: string, which: 'p50_s' | 'p90_s' | 'p99_s') => ({
    title,
    align: 'right' as const,
    cell: ({ quantiles }: LatencyRow) => (quantiles === null ? '-' : latency(quantiles[which])),
  })
  const columns = [
    { title: 'latency', cell: (row: LatencyRow) => row.latency },
    { title: 'over', cell: ({ over }: LatencyRow) => over },
    { title: 'count', align: 'right' as const, cell: (row: LatencyRow) => count(row.quantiles?.count ?? 0) },
    seconds('p50', 'p50_s'),
    seconds('p90', 'p90_s'),
    seconds('p99', 'p99_s'),
  ]
  const port = { title: 'port', cell: (row: LatencyRow) => row.port }
  return table(rows, rows.some(row => row.port !== '') ? [...columns, port] : columns, width)
}

const wiresTable = ({ wires }: NodeDetail, width: number | undefined): string[] =>
  table(
    wires,
    [
      { title: 'port', cell: ({ port }) => port },
      { title: 'wakes', cell: ({ trigger }) => (trigger ? 'yes' : 'no') },
      { title: 'message', cell: ({ message }) => message },
      { title: 'published by', cell: ({ from }) => from ?? 'outside' },
    ],
    width,
  )

const errorsTable = (errors: readonly NodeError[], width: number | undefined): string[] =>
  table(
    errors,
    [
      { title: 'failed', cell: ({ ts }) => shortTime(ts) },
      { title: 'code', cell: ({ code }) => code },
      { title: 'what', cell: ({ code, message }) => inCommands(code, message) },
    ],
    width,
  )
