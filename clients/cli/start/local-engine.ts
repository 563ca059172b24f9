import type { Command } from 'commander'
import { limits } from '../../../protocol/limits.ts'
import { EXIT } from '../../../protocol/settings.ts'
import { Client } from '../../client/client.ts'
import type { Context, EngineOptions } from '../context.ts'
import { Failure, usage } from '../failure.ts'
import { findEngine } from '../find-engine.ts'
import { refusal, type Serve, type Served } from './engine-run.ts'

/** An engine in the process of one command, and its client. It prints to standard error. */
export class LocalEngine {
  readonly client: Client
  readonly #served: Served

  private constructor(client: Client, served: Served) {
    this.client = client
    this.#served = served
  }

  /** Starts it on the installation of the command. Throws a Failure, which names a running engine if there is one. */
  static async start(context: Context, command: Command): Promise<LocalEngine> {
    const { output, interrupts, cwd } = context
    const { url, dataDir, global } = command.optsWithGlobals<EngineOptions>()
    if (url !== undefined) throw usage('--local starts its own engine: leave --url out.')
    const place = { ...(dataDir === undefined ? {} : { dataDir }), ...(global === undefined ? {} : { global }) }
    // Files that the engine writes are private to this user, even in a folder that is not.
    process.umask(0o077)
    for (const signal of ['SIGTERM', 'SIGHUP'] as const) interrupts.alsoOn(signal)
    const served = await start(context, [
      ...['--plain', '--host', '127.0.0.1', '--port', '0'],
      ...(dataDir === undefined ? [] : ['--data-dir', dataDir]),
      ...(global ? ['--global'] : []),
    ])
    process.on('uncaughtException', error => {
      process.stderr.write(`svc: the engine failed: ${error.stack ?? error}\n`)
      served.log.error('uncaught_exception', { error })
      process.exit(EXIT.failed)
    })
    for (const note of served.notes) output.note(note)
    // Do not use the engine that SVC_URL names.
    const environment = { ...context.environment, SVC_URL: undefined, SVC_TOKEN: undefined }
    return new LocalEngine(new Client(findEngine({ ...place, environment, cwd })), served)
  }

  /** Resolves when everything that it started has ended. */
  async close(): Promise<void> {
    setTimeout(() => process.exit(EXIT.failed), limits.STOP_GRACE_MS).unref()
    this.client.close()
    await this.#served.close()
  }
}

async function start({ environment, cwd }: Context, argv: readonly string[]): Promise<Served> {
  try {
    const { serve } = (await import('../../../server/main.ts')) as { serve: Serve }
    return await serve({ argv, environment, cwd, prints: true })
  } catch (error) {
    const { exit_code, text } = refusal(error)
    throw new Failure(exit_code, text)
  }
}
