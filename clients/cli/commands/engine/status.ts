import type { Command } from 'commander'
import type { FlowSummary } from '../../../../protocol/nouns/flow.ts'
import type { Summary } from '../../../../protocol/nouns/summary.ts'
import type { WorkerResources } from '../../../../protocol/worker/resources.ts'
import type { Client } from '../../../client/client.ts'
import { ClientError } from '../../../client/client-error.ts'
import { type Context, connect } from '../../context.ts'
import { bytes, duration, shortTime } from '../../output/figures.ts'
import type { Output } from '../../output/output.ts'
import { table } from '../../output/table.ts'
import { amounts } from '../../output/waiting.ts'

/** The state of the link to a portal. This release cannot be paired with one. */
const LINK = 'never paired'
const FLOWS_READ = 1_000

export function addStatus(program: Command, context: Context): void {
  program
    .command('status')
    .description('show the state of the engine: version, uptime, runs, resources, threads, backlog, issues')
    .option('--json', 'print JSON')
    .action(async (options: { json?: boolean }, command: Command) => {
      const client = connect(context, command)
      const { output } = context
      const summary = await client.status()
      const { url } = client
      const [runs, resources] = await Promise.all([lacking(runsOf(client)), lacking(client.resources())])
      if (options.json) return output.json({ ...summary, address: url, link: { state: LINK }, runs, resources })
      output.lines(figures(output, summary, url, runs, resources))
      if (resources !== null && resources.waiting.length > 0) {
        output.lines([''])
        output.table(waiting(resources, output.width))
      }
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

interface RunFigures {
  readonly total: number
  readonly live: number
}

async function runsOf(client: Client): Promise<RunFigures> {
  const { counts, totals } = await client.runs.page({}, 1)
  if (totals !== undefined) return totals
  const sum = (of: 'total' | 'live') => Object.values(counts).reduce((total, each) => total + each[of], 0)
  return { total: sum('total'), live: sum('live') }
}

/** The answer; null from an older engine that does not have the route. */
async function lacking<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof ClientError && error.status === 404) return null
    throw error
  }
}

function figures(
  output: Output,
  summary: Summary,
  url: string,
  runs: RunFigures | null,
  resources: WorkerResources | null,
): string[] {
  const { flows, cascades, memory, disk } = summary
  const dropped = Object.entries(summary.dropped).filter(([, count]) => count > 0)
  const isOk = summary.status === 'ok'
  const lines: [string, string][] = [
    ['engine', `${summary.version} at ${url}, up ${duration(summary.uptime_s)}`],
    ['status', output.style(isOk ? 'green' : 'yellow', summary.status)],
    ['link', LINK],
    ['flows', `${flows.total}, ${flows.enabled} enabled, ${flows.with_issues} with issues`],
    ['nodes', `${summary.nodes_down} down, ${summary.node_errors} with errors that are not acknowledged`],
    ['cascades', `${cascades.in_flight} in flight of ${cascades.limit}`],
    ...(runs === null ? [] : ([['runs', `${runs.total}, ${runs.live} queued or running`]] as [string, string][])),
    ...(resources?.runs === undefined ? [] : ([['places', places(resources.runs)]] as [string, string][])),
    ...(resources?.machines ?? []).map((each): [string, string] => ['machine', machine(each)]),
    ['waiting', `${summary.backlog.reduce((sum, { waiting }) => sum + waiting, 0)}`],
    ['memory', `${bytes(memory.rss_bytes)}, values ${bytes(memory.arena_bytes)} of ${bytes(memory.arena_limit_bytes)}`],
    ...disk.map((part, at): [string, string] => [at === 0 ? 'disk' : '', used(part)]),
  ]
  if (dropped.length > 0) lines.push(['dropped', dropped.map(([reason, count]) => `${reason} ${count}`).join(', ')])
  return lines.map(([name, text]) => `${name.padEnd(10)}${text}`)
}

/** `run_logs 1.2 MB of 2.1 GB` */
const used = ({ class: name, bytes: taken, budget_bytes }: Summary['disk'][number]): string =>
  `${name} ${bytes(taken)}${budget_bytes === null ? '' : ` of ${bytes(budget_bytes)}`}`

/** `1 of 4 free; runs without a place: 3, 1 of them ready` */
const places = ({ count, free, set_aside, wanting }: WorkerResources['runs']): string =>
  `${free} of ${count} free${set_aside === 0 ? '' : `; runs without a place: ${set_aside}, ${wanting} of them ready`}`

/** `local: 1.5 of 6 cores free, 2 of 2 cards, 7800 of 16000 MB; 3 claims` */
const machine = ({ machine, capacity, free, held }: WorkerResources['machines'][number]): string =>
  `${machine}: ${free.cpus} of ${capacity.cpus} cores free, ${free.cards.length} of ${capacity.gpus} cards, ${Math.round(free.ram_mb)} of ${Math.round(capacity.ram_mb)} MB; ${held.length} ${held.length === 1 ? 'claim' : 'claims'}`

const waiting = ({ waiting }: WorkerResources, width: number | undefined): string[] =>
  table(
    waiting,
    [
      { title: 'waiting node', cell: ({ node }) => node },
      { title: 'place', align: 'right', cell: ({ position }) => String(position) },
      { title: 'since', cell: ({ since }) => shortTime(since) },
      { title: 'run', cell: ({ run }) => run ?? '' },
      { title: 'needs', cell: ({ needs }) => amounts(needs) },
    ],
    width,
  )

const threads = (summary: Summary, width: number | undefined): string[] =>
  table(
    summary.threads,
    [
      { title: 'thread', cell: ({ kind, slot }) => `${kind} ${slot}` },
      { title: 'state', cell: ({ state }) => state },
      { title: 'started', align: 'right', cell: ({ epoch }) => `${epoch}x` },
      { title: 'heap', align: 'right', cell: ({ heap_bytes }) => (heap_bytes === null ? '' : bytes(heap_bytes)) },
      { title: 'running', cell: ({ node }) => node ?? '' },
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
      { title: 'issue in', cell: ({ flow, node }) => (node === null ? flow : `${flow}.${node}`) },
      { title: 'code', cell: ({ code, advisory }) => (advisory ? `${code} (advice)` : code) },
      { title: 'what', cell: ({ message }) => message },
    ],
    width,
  )
