import { resolve } from 'node:path'
import type { Command } from 'commander'
import type { Context } from '../context.ts'
import { bytes } from '../output/figures.ts'
import { type BackedUp, withStopped } from './stopped-installation.ts'

export function addBackup(program: Command, context: Context): void {
  program
    .command('backup')
    .description('write an installation of this machine into one file; its engine may run')
    .argument('<file>', 'the file to write; it has its name when it was read back and found whole')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
Holds the database as of one commit and all artifacts. The signing key stays out: keep the file private all the same, since
it holds flows, values and the hashes of passwords.

Examples:
  svc backup engine.tar
  svc backup "engine-$(date +%F).tar" --data-dir /srv/engine`,
    )
    .action(async (file: string, options: { json?: boolean }, command: Command) => {
      const path = resolve(context.cwd, file)
      const done = await withStopped(context, command, (stopped, place) => stopped.backupInstallation(place, path))
      if (options.json) return context.output.json(done)
      context.output.note(`${done.file} is written and verified: ${told(done)}`)
    })
}

export function addRestore(program: Command, context: Context): void {
  program
    .command('restore')
    .description('put a backup where there is no database yet; nothing is written over')
    .argument('<file>', 'what svc backup wrote')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
All of the file is checked before anything is written. A key.pem that is there stays, and the tokens that it signed go on;
without one everybody signs in again.

Examples:
  svc restore engine.tar --data-dir /srv/restored
  svc restore engine.tar`,
    )
    .action(async (file: string, options: { json?: boolean }, command: Command) => {
      const path = resolve(context.cwd, file)
      const done = await withStopped(context, command, (stopped, place) => stopped.restoreInstallation(place, path))
      if (options.json) return context.output.json(done)
      context.output.note(`${done.data_dir} is restored: ${told(done)}; start it with "svc serve"`)
    })
}

const told = ({ taken_at, version, database_bytes, artifacts, artifact_bytes }: BackedUp): string =>
  `taken ${taken_at} by release ${version}, database ${bytes(database_bytes)}, ${artifacts} artifacts of ${bytes(artifact_bytes)}`
