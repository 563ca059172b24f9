import type { Command } from 'commander'
import type { FlowSummary } from '../../protocol/flow.ts'
import type { Summary } from '../../protocol/summary.ts'
import { type Context, connect } from './context.ts'
import { bytes, duration } from './figures.ts'
import type { Output } from './output.ts'
import { table } from './table.ts'

/** Pairing with a portal comes with its own commands; until then no installation has ever been paired. */
const LINK = 'never paired'
const FLOWS_READ = 1_000

export function addStatus(program: Command, context: Context): void {
  program
    .command('status')
    .description('how the engine is: version, uptime, threads, backlog, issues')
    .option('--json', 'print JSON')
    .action(async (options: { json?: boolean }, command: Command) => {
      const client = connect(context, command)
      const { output } = context
      const summary = await client.status()
      const { url } = client
      if (options.json) return output.json({ ...summary, address: url, link: { state: LINK } })
      output.lines(figures(output, summary, url))
      if (summary.threads.length > 0) {
        output.lines([''])
        output.table(threads(summary, output.width))
      }
      if (summary.backlog.length > 0) {
        output.lines([''])
        output.table(backlog(summary, output.width))
      }
      if (summary.flows.with_issues === 0) return
      const flows = await client.flows.list(FLOWS_READ)
      output.lines([''])
      output.table(issues(flows.items, output.width))
    })
}

function figures(output: Output, summary: Summary, url: string): string[] {
  const { flows, cascades, memory, disk } = summary
  const dropped = Object.entries(summary.dropped).filter(([, count]) => count > 0)
  const isOk = summary.status === 'ok'
  const lines: [string, string][] = [
    ['engine', `${summary.version} at ${url}, up ${duration(summary.uptime_s)}`],
    ['status', output.style(isOk ? 'green' : 'yellow', summary.status)],
    ['link', LINK],
    ['flows', `${flows.total}, ${flows.enabled} enabled, ${flows.with_issues} with issues`],
    ['nodes', `${summary.nodes_down} down, ${summary.node_errors} with errors that nobody acknowledged`],
    ['cascades', `${cascades.in_flight} in flight of ${cascades.limit}`],
    ['waiting', `${summary.backlog.reduce((sum, { waiting }) => sum + waiting, 0)}`],
    ['memory', `${bytes(memory.rss_bytes)}, values ${bytes(memory.arena_bytes)} of ${bytes(memory.arena_limit_bytes)}`],
    ['disk', disk.map(part => `${part.class} ${bytes(part.bytes)}`).join(', ')],
  ]
  if (dropped.length > 0) lines.push(['dropped', dropped.map(([reason, count]) => `${reason} ${count}`).join(', ')])
  return lines.map(([name, text]) => `${name.padEnd(10)}${text}`)
}

const threads = (summary: Summary, width: number | undefined): string[] =>
  table(
    summary.threads,
    [
      { title: 'thread', cell: ({ kind, slot }) => `${kind} ${slot}` },
      { title: 'state', cell: ({ state }) => state },
      { title: 'started', align: 'right', cell: ({ epoch }) => `${epoch}x` },
      { title: 'heap', align: 'right', cell: ({ heap_bytes }) => (heap_bytes === null ? '' : bytes(heap_bytes)) },
      { title: 'runs now', cell: ({ node }) => node ?? '' },
    ],
    width,
  )

const backlog = (summary: Summary, width: number | undefined): string[] =>
  table(
    summary.backlog,
    [
      { title: 'flow', cell: ({ flow }) => flow },
      { title: 'waiting', align: 'right', cell: ({ waiting }) => String(waiting) },
      { title: 'bytes', align: 'right', cell: ({ waiting_bytes }) => bytes(waiting_bytes) },
      { title: 'oldest', align: 'right', cell: ({ oldest_s }) => (oldest_s === null ? '' : duration(oldest_s)) },
      { title: 'of bound', align: 'right', cell: ({ share }) => `${Math.round(share * 100)} %` },
    ],
    width,
  )

const issues = (flows: readonly FlowSummary[], width: number | undefined): string[] =>
  table(
    flows.flatMap(flow => flow.issues.map(issue => ({ flow: flow.name, ...issue }))),
    [
      { title: 'issue of', cell: ({ flow, node }) => (node === null ? flow : `${flow}.${node}`) },
      { title: 'code', cell: ({ code, advisory }) => (advisory ? `${code} (advice)` : code) },
      { title: 'what', cell: ({ message }) => message },
    ],
    width,
  )
