import { Command, CommanderError } from 'commander'
import { EXIT } from '../../protocol/settings.ts'
import { VERSION } from '../../protocol/version.ts'
import { ClientError } from '../client/client-error.ts'
import type { Context } from './context.ts'
import { Failure, failureOf } from './failure.ts'
import { addFlows } from './flows.ts'
import { addLogin } from './login.ts'
import { addMessages } from './messages.ts'
import { Output } from './output.ts'
import { addPublish } from './publish.ts'
import { addServe } from './serve.ts'
import { addStatus } from './status.ts'
import { addTail } from './tail.ts'

/** The whole command line as a tree of commands; nothing runs yet. */
export function createProgram(context: Context): Command {
  const program = new Command('svc')
    .description('Flows of wired nodes that run live.')
    .version(VERSION, '-V, --version', 'print the release number')
    .helpOption('-h, --help', 'print this help')
    .helpCommand(false)
    .option('--url <address>', 'the engine to talk to, such as http://127.0.0.1:8700')
    .option('--data-dir <path>', 'the installation whose engine to talk to')
    .option('--global', "this user's installation instead of the one beside the code")
    .configureHelp({ showGlobalOptions: true })
    .exitOverride()
  for (const add of [addServe, addLogin, addStatus, addFlows, addPublish, addTail, addMessages]) add(program, context)
  return program
}

/** Runs one command to its end and resolves with its exit code. */
export async function runCommand(argv: readonly string[]): Promise<number> {
  const output = new Output(process.stdout, process.stderr, process.env)
  const context: Context = { argv, output, environment: process.env, cwd: process.cwd(), stdin: process.stdin }
  process.on('SIGINT', () => process.exit(EXIT.interrupted))
  process.stdout.on('error', error => {
    // The reader went away (`svc tail | head`): nothing is left to do.
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
