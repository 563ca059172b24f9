import type { Command } from 'commander'
import { EXIT } from '../../../protocol/settings.ts'
import type { Context } from '../context.ts'
import { Failure } from '../failure.ts'
import { table } from '../output/table.ts'
import { type Finding, withStopped } from './stopped-installation.ts'

export function addVerify(program: Command, context: Context): void {
  program
    .command('verify')
    .description('check the whole database of a stopped engine, and print what is damaged')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
Changes nothing. Exit codes: 0 when nothing is damaged, 1 when something is, 3 when an engine runs or there is no database.

Examples:
  svc verify                          # the installation beside the code
  svc verify --data-dir /backup/svc   # a copy; an engine may run elsewhere
  svc verify --json | jq .findings`,
    )
    .action(async (options: { json?: boolean }, command: Command) => {
      const { output } = context
      const verified = await withStopped(context, command, (stopped, place) => stopped.verifyInstallation(place))
      const { findings, found, rows, quarantined } = verified
      if (options.json) output.json(verified)
      else if (found > 0) output.table(findingsTable(findings, output.width))
      const count = Object.values(rows).reduce((sum, each) => sum + each, 0)
      const aside = quarantined === 0 ? '' : `; ${quarantined} rows were put aside earlier, see quarantine.jsonl`
      output.note(`${verified.data_dir}: ${count} rows, ${found === 0 ? 'no damage' : `${found} findings`}${aside}`)
      if (found > 0) throw new Failure(EXIT.failed, 'Restore a backup, or export the readable data with "svc repair".')
    })
}

const findingsTable = (findings: readonly Finding[], width: number | undefined): string[] =>
  table(
    findings,
    [
      { title: 'file', cell: ({ file }) => file },
      { title: 'table', cell: ({ table }) => table ?? '' },
      { title: 'row', cell: ({ row }) => row ?? '' },
      { title: 'finding', cell: ({ reason }) => reason },
    ],
    width,
  )
