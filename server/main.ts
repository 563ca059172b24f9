import { join } from 'node:path'
import { limits } from '../protocol/limits.ts'
import { EXIT } from '../protocol/settings.ts'
import { type Config, readConfig } from './config.ts'
import { LOG_FILE, startRefusal } from './installation/files.ts'
import { Installation } from './installation/installation.ts'
import { ServeLog } from './observe/serve-log.ts'
import type { RunningEngine, StartEngine, StartOptions } from './running-engine.ts'

export interface ServeOptions {
  /** What follows `svc serve`. */
  readonly argv: readonly string[]
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  /** `build.ts` when absent. */
  readonly loadEngine?: () => Promise<StartEngine>
  /** How the engine before this one ended, when the supervisor started it again. */
  readonly restarted_after?: string
  /** What bodies of batch runs print is printed here, too. */
  readonly prints?: boolean
  /** The machine's clock, milliseconds since 1970; `Date.now` when absent. */
  readonly wall_ms?: () => number
}

/** A served engine and what to tell the person who started it. */
export interface Served {
  readonly url: string
  readonly data_dir: string
  /** For stdout. */
  readonly lines: readonly string[]
  /** For stderr. */
  readonly notes: readonly string[]
  /** The password of the first account is among them. */
  readonly has_password: boolean
  readonly log: ServeLog
  close(): Promise<void>
}

/** For `svc verify` and `svc repair`, which need no engine. */
export const stopped = () => import('./installation/stopped.ts')

/** Starts an engine in this process. Throws ServiceError with nothing left behind that runs or holds a lock. */
export async function serve(options: ServeOptions): Promise<Served> {
  const config = readConfig(options)
  const installation = Installation.open({ ...config, cwd: options.cwd, environment: options.environment })
  const log = openLog(installation)
  let running: RunningEngine | null = null
  let beginning: NodeJS.Timeout | undefined
  const close = async (): Promise<void> => {
    clearTimeout(beginning)
    if (running !== null) installation.retire()
    await running?.close()
    log.info('engine_stopped')
    log.close()
    installation.close()
  }
  try {
    if (options.restarted_after !== undefined) log.warn('engine_restarted', { after: options.restarted_after })
    log.info('engine_starting', { pid: process.pid, node: process.version, data_dir: installation.data_dir })
    const { wall_ms = Date.now, prints = false } = options
    running = await startEngine(options, { config, installation, log, wall_ms, prints })
    await installation.keepToken(running.mintToken, error => log.error('token_not_renewed', { error }))
    running.onTokenEnded(() => installation.renewToken())
    const url = reachable(running.url)
    installation.announce(url)
    log.info('engine_ready', { url, host: config.host })
    beginning = setTimeout(running.begin, limits.BEGIN_AFTER_MS)
    const examples = config.example ? await storeExamples(running) : []
    const { data_dir, newAdmin } = installation
    const told = greeting(config, installation, url, examples)
    return { url, data_dir, ...told, has_password: newAdmin !== null, log, close }
  } catch (error) {
    log.error('engine_not_started', { error })
    await close().catch(() => {})
    throw startRefusal(error, installation.data_dir)
  }
}

function openLog(installation: Installation): ServeLog {
  try {
    return new ServeLog({ path: join(installation.data_dir, LOG_FILE) })
  } catch (error) {
    installation.close()
    throw startRefusal(error, installation.data_dir)
  }
}

/** The store's thread and the modules of everything else load side by side: they take about as long. */
async function startEngine(options: ServeOptions, parts: Omit<StartOptions, 'onFatal'>): Promise<RunningEngine> {
  const { log, installation, wall_ms } = parts
  const onFatal = (error: Error): void => {
    log.error('engine_cannot_go_on', { error })
    process.exit(EXIT.failed)
  }
  if (options.loadEngine) return (await options.loadEngine())({ ...parts, onFatal })
  const { openStore } = await import('./store/front/open-store.ts')
  const opening = openStore({ data_dir: installation.data_dir, log, wall_ms, onFatal })
  // Whoever awaits it hears of a failure; until then it is nobody's unhandled rejection.
  opening.catch(() => {})
  const build = await import('./build.ts')
  return build.startEngine({ ...parts, opening, onFatal })
}

/** An engine that listens on every address of the machine is reached on the loopback one. */
const reachable = (url: string): string => url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:')

/** The names of the flows that were stored: none when the installation has any flow already. */
async function storeExamples(running: RunningEngine): Promise<string[]> {
  const { flows } = running.engine
  if (flows.list({ limit: 1, offset: 0 }).count > 0) return []
  const { examples } = await import('../docs/examples/index.ts')
  const stored = examples()
  for (const { name, document } of stored) await flows.create({ name, document, message: 'example' }, 'admin')
  return stored.map(({ name }) => name)
}

function greeting(config: Config, installation: Installation, url: string, examples: string[]) {
  const { newAdmin, data_dir, tokenFile } = installation
  const password = newAdmin === null ? [] : [`user        ${newAdmin.name}, password ${newAdmin.password} (shown once)`]
  if (config.plain) return { lines: [`ready ${url}`], notes: password }
  const { max_runs, max_cascades, max_workers, lanes, cpus, gpus } = config
  return {
    lines: [
      `address     ${url}`,
      `data        ${data_dir}`,
      `numbers     runs ${max_runs}, cascades ${max_cascades}, workers ${max_workers}, lanes ${lanes}, cpus ${cpus}, gpus ${gpus}`,
      `node code   runs on ${process.execPath} (${process.version})`,
      ...password,
      `token       ${tokenFile}`,
      ...(examples.length === 0
        ? []
        : [`examples    ${examples.join(', ')}: watch them with "./svc tail", or "./svc tail machine.temperature"`]),
    ],
    notes: [],
  }
}
