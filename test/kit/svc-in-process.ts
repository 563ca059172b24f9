import { PassThrough } from 'node:stream'
import type { TestContext } from 'node:test'
import { CommanderError } from 'commander'
import { Failure, failureOf } from '../../clients/cli/failure.ts'
import { Interrupts } from '../../clients/cli/interrupts.ts'
import { Output } from '../../clients/cli/output/output.ts'
import { createProgram } from '../../clients/cli/program.ts'
import { ClientError } from '../../clients/client/client-error.ts'
import { directoryFor } from './spawned.ts'

export interface Asked {
  readonly url: string
  /** `tok` when not given. */
  readonly token?: string
  readonly cwd?: string
  readonly stdin?: string
  /** Columns of a terminal; what is printed goes into a pipe when not given. */
  readonly columns?: number
}

/** One command in the process of the test, to its end: some hundred times as fast as a process of its own. */
export async function svcInProcess(
  t: TestContext,
  argv: readonly string[],
  { url, token = 'tok', cwd, stdin, columns }: Asked,
) {
  const printed = { stdout: '', stderr: '' }
  const sink = (name: keyof typeof printed, isTTY: boolean) => ({
    isTTY,
    ...(columns === undefined ? {} : { columns }),
    write: (text: string | Uint8Array) => {
      printed[name] += String(text)
      return true
    },
  })
  const input = new PassThrough()
  input.end(stdin ?? '')
  const program = createProgram({
    argv,
    output: new Output(sink('stdout', columns !== undefined), sink('stderr', false), { NO_COLOR: '1' }),
    environment: { SVC_URL: url, SVC_TOKEN: token, XDG_CONFIG_HOME: directoryFor(t) },
    cwd: cwd ?? directoryFor(t),
    stdin: input as unknown as NodeJS.ReadStream,
    interrupts: new Interrupts(),
  })
  const quiet = (command: typeof program): void => {
    command.configureOutput({
      writeOut: text => (printed.stdout += text),
      writeErr: text => (printed.stderr += text),
    })
    command.commands.forEach(quiet)
  }
  quiet(program)
  try {
    await program.parseAsync([...argv], { from: 'user' })
    return { code: 0, ...printed }
  } catch (error) {
    if (error instanceof CommanderError) return { code: error.exitCode === 0 ? 0 : 2, ...printed }
    const failure = error instanceof ClientError ? failureOf(error) : error
    if (!(failure instanceof Failure)) throw failure
    return { code: failure.exit_code as number, ...printed, stderr: `${printed.stderr}svc: ${failure.message}\n` }
  }
}
