import { Command, CommanderError } from 'commander'
import { EXIT } from '../../protocol/settings.ts'
import { VERSION } from '../../protocol/version.ts'
import { ClientError } from '../client/client-error.ts'
import { addArtifacts } from './commands/artifacts/artifacts.ts'
import { addCascades } from './commands/cascades/cascades.ts'
import { addClients } from './commands/clients.ts'
import { addCompletion } from './commands/completion.ts'
import { addAudit } from './commands/engine/audit.ts'
import { addEvents } from './commands/engine/events.ts'
import { addLogin } from './commands/engine/login.ts'
import { addLogout } from './commands/engine/logout.ts'
import { addModules } from './commands/engine/modules.ts'
import { addServe } from './commands/engine/serve.ts'
import { addStatus } from './commands/engine/status.ts'
import { addTop } from './commands/engine/top.ts'
import { addFlavors } from './commands/flavors.ts'
import { addFlows } from './commands/flows/flows.ts'
import { addIssues } from './commands/flows/issues.ts'
import { addSync } from './commands/flows/sync.ts'
import { addHelp } from './commands/help.ts'
import { addHistory } from './commands/messages/history.ts'
import { addMessages } from './commands/messages/messages.ts'
import { addPublish } from './commands/messages/publish.ts'
import { addTail } from './commands/messages/tail.ts'
import { addWatch } from './commands/messages/watch.ts'
import { addFires } from './commands/nodes/fires.ts'
import { addNodes } from './commands/nodes/nodes.ts'
import { addExport } from './commands/runs/export.ts'
import { addRetry } from './commands/runs/retry.ts'
import { addRun } from './commands/runs/run.ts'
import { addRuns } from './commands/runs/runs.ts'
import { addSweep } from './commands/runs/sweep.ts'
import { addWhy } from './commands/runs/why.ts'
import { addDashboards } from './commands/screens/dashboards.ts'
import { addPanels } from './commands/screens/panels.ts'
import { addSearch } from './commands/search.ts'
import { addSecrets } from './commands/secrets.ts'
import { addTokens } from './commands/tokens.ts'
import { addUsers } from './commands/users.ts'
import type { Context } from './context.ts'
import { addExamples } from './examples.ts'
import { Failure, failureOf } from './failure.ts'
import { Interrupts } from './interrupts.ts'
import { addBackup, addRestore } from './offline/backup.ts'
import { addRepair } from './offline/repair.ts'
import { addVerify } from './offline/verify.ts'
import { Output } from './output/output.ts'

const COMMANDS = [
  addServe,
  addLogin,
  addLogout,
  addStatus,
  addTop,
  addFlows,
  addPublish,
  addTail,
  addWatch,
  addMessages,
  addHistory,
  addEvents,
  addCascades,
  addNodes,
  addIssues,
  addFires,
  addRun,
  addSweep,
  addRuns,
  addWhy,
  addRetry,
  addExport,
  addFlavors,
  addDashboards,
  addPanels,
  addSecrets,
  addSearch,
  addSync,
  addModules,
  addArtifacts,
  addUsers,
  addAudit,
  addTokens,
  addClients,
  addBackup,
  addRestore,
  addVerify,
  addRepair,
  addCompletion,
  addHelp,
]

/** The whole command line as a tree of commands; nothing runs yet. */
export function createProgram(context: Context): Command {
  const program = new Command('svc')
    .description('Run flows of connected nodes: live, and as recorded batch runs.')
    .version(VERSION, '-v, --version', 'print the release number')
    .helpOption('-h, --help', 'print this help')
    .helpCommand(false)
    .option('--url <address>', 'the address of the engine, such as http://127.0.0.1:8700')
    .option('--data-dir <path>', 'the directory of the installation to use')
    .option('--global', 'use the installation of this user instead of the one beside the code')
    .configureHelp({ showGlobalOptions: true })
    .exitOverride()
  for (const add of COMMANDS) add(program, context)
  addExamples(program)
  return program
}

/** Runs one command to its end and resolves with its exit code. */
export async function runCommand(argv: readonly string[]): Promise<number> {
  const output = new Output(process.stdout, process.stderr, process.env)
  const context: Context = {
    argv,
    output,
    environment: process.env,
    cwd: process.cwd(),
    stdin: process.stdin,
    interrupts: new Interrupts(),
  }
  process.stdout.on('error', error => {
    // The reader has closed the pipe (`svc tail | head`).
    process.exit((error as NodeJS.ErrnoException).code === 'EPIPE' ? EXIT.ok : EXIT.failed)
  })
  try {
    await createProgram(context).parseAsync(argv, { from: 'user' })
    return EXIT.ok
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage
    const failure = error instanceof ClientError ? failureOf(error) : error
    if (!(failure instanceof Failure)) throw failure
    output.note([failure.message, ...failure.places.map(place => `  ${place}`)].join('\n'))
    return failure.exit_code
  }
}
