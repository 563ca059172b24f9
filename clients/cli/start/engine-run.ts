import type { ErrorCode, ServiceError } from '../../../protocol/errors.ts'
import { limits } from '../../../protocol/limits.ts'
import { EXIT, type ExitCode } from '../../../protocol/settings.ts'
import { problemText } from '../../client/problem-text.ts'
import type { FromEngine } from './engine-channel.ts'
import { LOG_OUTPUT, logOutput } from './log-output.ts'

/** The part of `server/main.ts` that is needed here. */
export type Serve = (options: {
  argv: readonly string[]
  environment: NodeJS.ProcessEnv
  cwd: string
  restarted_after?: string
  prints?: boolean
}) => Promise<Served>

export interface Served {
  url: string
  data_dir: string
  has_password: boolean
  lines: readonly string[]
  notes: readonly string[]
  log: {
    error(event: string, fields: { error: unknown }): void
    alsoTo(write: (bytes: Uint8Array) => void): void
  }
  close(): Promise<void>
}

const REFUSALS: Partial<Record<ErrorCode, ExitCode>> = {
  bad_setting: EXIT.usage,
  wrong_database: EXIT.usage,
  second_engine: EXIT.refused,
  address_in_use: EXIT.refused,
}

/**
 * One life of the engine process. It ends cleanly on SIGTERM, on SIGINT, and when the channel to the supervisor closes,
 * which also happens when the supervisor is killed. It ends with 1 after an exception that nobody caught.
 */
export async function engineProcess(load: () => Promise<Serve>): Promise<void> {
  const [restarted_after, log, ...argv] = process.argv.slice(2)
  const life: { served: Served | null; isEnding: boolean } = { served: null, isEnding: false }

  const end = (code: number): void => {
    if (life.isEnding) return
    life.isEnding = true
    setTimeout(() => process.exit(EXIT.failed), limits.STOP_GRACE_MS).unref()
    const closed = life.served === null ? Promise.resolve() : life.served.close()
    closed.then(
      () => process.exit(code),
      error => {
        process.stderr.write(`svc: the engine did not stop cleanly: ${error?.stack ?? error}\n`)
        process.exit(EXIT.failed)
      },
    )
  }
  // A stop before that waits until the start has finished, so that the first password is printed.
  let stopEarly: number | null = null
  const stop = (): void => {
    if (life.served === null) stopEarly = EXIT.ok
    else end(EXIT.ok)
  }
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
  process.on('disconnect', stop)
  process.stderr.on('error', () => {})
  process.stdout.on('error', () => {})
  process.on('uncaughtException', error => {
    process.stderr.write(`svc: the engine failed: ${error?.stack ?? error}\n`)
    life.served?.log.error('uncaught_exception', { error })
    end(EXIT.failed)
  })

  try {
    const serve = await load()
    const options = { argv, environment: process.env, cwd: process.cwd() }
    life.served = await serve(restarted_after ? { ...options, restarted_after } : options)
  } catch (error) {
    const exit_code = await tell(refusal(error))
    process.exit(exit_code)
  }
  const { url, data_dir, lines, notes, has_password } = life.served
  if (stopEarly !== null) return end(stopEarly)
  await tell({ type: 'ready', url, data_dir, lines, notes, has_password })
  // After the output of the start.
  if (log === 'log') life.served.log.alsoTo(logOutput(LOG_OUTPUT))
}

/** The message to the user about a failed start. */
export function refusal(error: unknown): FromEngine & { type: 'refused' } {
  const isExpected = error instanceof Error && error.name === 'ServiceError'
  if (!isExpected) {
    const text = `The engine did not start: ${error instanceof Error ? error.stack : error}`
    return { type: 'refused', text, exit_code: EXIT.failed }
  }
  const { code } = error as ServiceError
  return {
    type: 'refused',
    text: problemText((error as ServiceError).toJSON()),
    exit_code: REFUSALS[code] ?? EXIT.failed,
  }
}

/** Resolves with the exit code once the supervisor has it; without a supervisor it is printed here. */
function tell(message: FromEngine): Promise<number> {
  const code = message.type === 'refused' ? message.exit_code : EXIT.ok
  return new Promise(resolve => {
    if (process.send) process.send(message, () => resolve(code))
    else {
      if (message.type === 'ready') process.stdout.write(`${message.lines.join('\n')}\n`)
      else process.stderr.write(`svc: ${message.text}\n`)
      resolve(code)
    }
  })
}
