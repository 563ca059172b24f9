import { resolve } from 'node:path'
import type { Command } from 'commander'
import type { Context } from '../context.ts'
import { bytes } from '../output/figures.ts'
import { type BackedUp, withStopped } from './stopped-installation.ts'

export function addBackup(program: Command, context: Context): void {
  program
    .command('backup')
    .description('back up an installation of this machine into one file; its engine may run')
    .argument('<file>', 'the file to write; it gets this name only after it was verified')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
The file holds the database as of one commit, and all artifacts. It does not hold the signing key. Keep it private all the
same: it contains flows, values and password hashes.

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
    .description('restore a backup into an installation without a database; nothing is overwritten')
    .argument('<file>', 'the file that svc backup wrote')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
The whole file is checked before anything is written. A key.pem in the directory is kept, and its tokens stay valid. Without
one, all users must sign in again.

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
