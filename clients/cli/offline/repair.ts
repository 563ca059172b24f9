import { resolve } from 'node:path'
import type { Command } from 'commander'
import { EXIT } from '../../../protocol/settings.ts'
import type { Context } from '../context.ts'
import { Failure } from '../failure.ts'
import { table } from '../output/table.ts'
import { withStopped } from './stopped-installation.ts'

/** Histories are many files with numbers for names. */
const HISTORY = 'history/'

export function addRepair(program: Command, context: Context): void {
  program
    .command('repair')
    .description('export all readable data of a stopped engine into a new directory')
    .argument('<out-dir>', 'a new or an empty directory')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
The database is not changed. Exit codes: 0 when everything could be read; 1 when something could not (see unreadable.jsonl);
3 when an engine runs, there is no database, or the directory is not empty.

Examples:
  svc repair /tmp/rescued
  svc --data-dir /broken/svc repair /tmp/rescued
  svc flows put boiler /tmp/rescued/flows/boiler.json   # into a new engine`,
    )
    .action(async (out_dir: string, options: { json?: boolean }, command: Command) => {
      const { output } = context
      const path = resolve(context.cwd, out_dir)
      const exported = await withStopped(context, command, (stopped, place) => stopped.repairInstallation(place, path))
      if (options.json) output.json(exported)
      else output.table(filesTable(exported.files, output.width))
      output.note(`${exported.out_dir} is written`)
      if (exported.unreadable > 0)
        throw new Failure(EXIT.failed, `${exported.unreadable} rows or tables could not be read: see unreadable.jsonl.`)
    })
}

function filesTable(files: Readonly<Record<string, number>>, width: number | undefined): string[] {
  const entries = Object.entries(files).filter(([name]) => !name.startsWith(HISTORY))
  const histories = Object.entries(files).filter(([name]) => name.startsWith(HISTORY))
  if (histories.length > 0) entries.push([`${HISTORY}*.jsonl`, histories.reduce((sum, [, lines]) => sum + lines, 0)])
  return table(
    entries,
    [
      { title: 'file', cell: ([name]) => name },
      { title: 'lines', align: 'right', cell: ([, lines]) => `${lines}` },
    ],
    width,
  )
}
