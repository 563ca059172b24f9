import type { Command } from 'commander'
import { dashboardDiff } from '../../../../protocol/dashboards/dashboard-diff.ts'
import type {
  DashboardDocument,
  DashboardSummary,
  DashboardVersion,
  SaveDashboard,
  SavedDashboard,
} from '../../../../protocol/nouns/dashboard.ts'
import { type Context, connect } from '../../context.ts'
import { countOf } from '../../counts.ts'
import { usage } from '../../failure.ts'
import { addGroup } from '../../group.ts'
import { documentOf, readJsonFile } from '../../json-file.ts'
import { shortTime } from '../../output/figures.ts'
import type { Output } from '../../output/output.ts'
import { table } from '../../output/table.ts'
import { printable } from '../../output/text.ts'
import { differenceLines } from '../flows/history.ts'

const SHOWN = 20

export function addDashboards(program: Command, context: Context): void {
  addGroup(program, context, {
    name: 'dashboards',
    description: 'read, save, compare and delete dashboards',
    commands: [
      addDashboardsList,
      addDashboardsGet,
      addDashboardsPut,
      addDashboardsDiff,
      addDashboardsHistory,
      addDashboardsRestore,
      addDashboardsDelete,
      addDashboardsTypes,
    ],
  })
}

function addDashboardsList(dashboards: Command, context: Context): void {
  dashboards
    .command('list', { isDefault: true })
    .description('list the dashboards by name, with the panels that show them')
    .option('--json', 'print JSON')
    .action(async (options: { json?: boolean }, command: Command) => {
      const { output } = context
      const list = await connect(context, command).dashboards.list()
      if (options.json) return output.json(list)
      if (list.items.length === 0) return output.note('there are no dashboards; save one with "svc dashboards put"')
      output.table(summaries(list.items, output.width))
    })
}

function addDashboardsGet(dashboards: Command, context: Context): void {
  dashboards
    .command('get')
    .description("print a dashboard's document, as dashboards put takes it")
    .argument('<dashboard>', 'the dashboard')
    .option('--json', 'print the whole dashboard: document, version, lock, warnings')
    .action(async (name: string, options: { json?: boolean }, command: Command) => {
      const dashboard = await connect(context, command).dashboards.get(name)
      context.output.json(options.json ? dashboard : dashboard.document)
    })
}

interface PutOptions {
  readonly baseVersion?: number
  readonly json?: boolean
}

function addDashboardsPut(dashboards: Command, context: Context): void {
  dashboards
    .command('put')
    .description('save a dashboard: create or replace it')
    .argument('<dashboard>', 'the dashboard')
    .argument('<file>', 'a document in JSON, or the output of dashboards get --json; - reads standard input')
    .option('--base-version <version>', 'refuse the save when it has another version', countOf('--base-version'))
    .option('--json', 'print JSON')
    .action(async (name: string, file: string, { baseVersion, json }: PutOptions, command: Command) => {
      const document = documentOf(await readJsonFile(context, file))
      const version = baseVersion === undefined ? {} : { version: baseVersion }
      const saved = await connect(context, command).dashboards.save(name, { document, ...version } as SaveDashboard)
      if (json) return context.output.json(saved)
      printSaved(context.output, saved)
    })
}

function addDashboardsDiff(dashboards: Command, context: Context): void {
  dashboards
    .command('diff')
    .description('show what a save of the file would change')
    .argument('<dashboard>', 'the dashboard')
    .argument('<file>', 'a document in JSON, or the output of dashboards get --json; - reads standard input')
    .option('--json', 'print JSON')
    .action(async (name: string, file: string, options: { json?: boolean }, command: Command) => {
      const { output } = context
      const given = documentOf(await readJsonFile(context, file))
      if (!isDocument(given)) throw usage(`${file} is not the document of a dashboard: it has no list "tiles".`)
      const stored = await connect(context, command).dashboards.get(name)
      const differences = dashboardDiff(stored.document, given)
      if (options.json) return output.json(differences)
      if (differences.length === 0) return output.note(`version ${stored.version} is the same`)
      printDifferences(output, differences)
    })
}

interface HistoryOptions {
  readonly limit?: number
  readonly json?: boolean
}

function addDashboardsHistory(dashboards: Command, context: Context): void {
  dashboards
    .command('history')
    .description("a dashboard's versions, the newest first; with a version, what it changed")
    .argument('<dashboard>', 'the dashboard')
    .argument('[version]', 'the version', countOf('version'))
    .option('--limit <count>', `print at most this many (default: ${SHOWN})`, countOf('--limit'))
    .option('--json', 'print JSON')
    .action(async (name: string, version: number | undefined, options: HistoryOptions, command: Command) => {
      const { output } = context
      const { dashboards: client } = connect(context, command)
      if (version === undefined) {
        const list = await client.history(name, options.limit ?? SHOWN)
        return options.json ? output.json(list) : output.table(versions(list.items, output.width))
      }
      const detail = await client.version(name, version)
      if (options.json) return output.json(detail)
      output.lines([printable(`version ${detail.version} (${detail.action} by ${detail.author} at ${detail.at})`)])
      printDifferences(output, detail.diff)
    })
}

function addDashboardsRestore(dashboards: Command, context: Context): void {
  dashboards
    .command('restore')
    .description('save a dashboard as it was at an earlier version')
    .argument('<dashboard>', 'the dashboard')
    .argument('<version>', 'the version', countOf('version'))
    .option('--json', 'print JSON')
    .action(async (name: string, version: number, options: { json?: boolean }, command: Command) => {
      const saved = await connect(context, command).dashboards.restore(name, version)
      if (options.json) return context.output.json(saved)
      printSaved(context.output, saved)
    })
}

function addDashboardsDelete(dashboards: Command, context: Context): void {
  dashboards
    .command('delete')
    .description('remove a dashboard that no panel shows; its history is kept for a while')
    .argument('<dashboard>', 'the dashboard')
    .action(async (name: string, _options: object, command: Command) => {
      await connect(context, command).dashboards.delete(name)
      context.output.note(`dashboard ${name} is removed`)
    })
}

function addDashboardsTypes(dashboards: Command, context: Context): void {
  dashboards
    .command('types')
    .description('list the types of tiles')
    .option('--json', 'print JSON, with their settings as JSON Schema')
    .action(async (options: { json?: boolean }, command: Command) => {
      const { output } = context
      const list = await connect(context, command).dashboards.types()
      if (options.json) return output.json(list)
      const columns = [
        { title: 'type', cell: ({ name }: (typeof list.items)[number]) => name },
        { title: 'does', cell: ({ description }: (typeof list.items)[number]) => description },
      ]
      output.table(table(list.items, columns, output.width))
    })
}

const isDocument = (value: unknown): value is DashboardDocument =>
  typeof value === 'object' && value !== null && Array.isArray((value as { tiles?: unknown }).tiles)

function printSaved(output: Output, { name, version, warnings }: SavedDashboard): void {
  output.lines([`${name} version ${version}`])
  for (const { loc, msg } of warnings) output.note(printable(`${loc}: ${msg}`))
}

function printDifferences(output: Output, differences: ReturnType<typeof dashboardDiff>): void {
  for (const difference of differences) {
    output.lines([output.style('bold', printable(difference.path === '' ? '(all)' : difference.path))])
    output.lines(
      differenceLines(difference).map(line => output.style(line.startsWith('-') ? 'red' : 'green', printable(line))),
    )
  }
}

const summaries = (items: readonly DashboardSummary[], width: number | undefined): string[] =>
  table(
    items,
    [
      { title: 'dashboard', cell: ({ name }) => name },
      { title: 'version', align: 'right', cell: ({ version }) => String(version) },
      { title: 'tiles', align: 'right', cell: ({ tiles }) => String(tiles) },
      { title: 'saved', cell: ({ updated_at }) => shortTime(updated_at) },
      { title: 'by', cell: ({ updated_by }) => updated_by },
      { title: 'panels', cell: ({ panels }) => panels.join(', ') },
    ],
    width,
  )

const versions = (items: readonly DashboardVersion[], width: number | undefined): string[] =>
  table(
    items,
    [
      { title: 'version', align: 'right', cell: ({ version }) => String(version) },
      { title: 'at', cell: ({ at }) => shortTime(at) },
      { title: 'by', cell: ({ author }) => author },
      { title: 'did', cell: ({ action }) => action },
      { title: 'tiles', align: 'right', cell: ({ tiles }) => String(tiles) },
    ],
    width,
  )
