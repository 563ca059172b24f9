import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { endedWithUs } from './orphans.ts'
import { ROOT } from './sources.ts'

/** A bound for what has to happen some time; nothing is asserted about how long it took. */
const PATIENCE_MS = 30_000
const POLL_MS = 10

/** Resolves with the first answer that is neither null, undefined nor false. */
export async function eventually<T>(
  what: string,
  look: () => T | null | undefined | false | Promise<T | null | undefined | false>,
): Promise<T> {
  for (let left = PATIENCE_MS / POLL_MS; left > 0; left--) {
    const seen = await look()
    if (seen !== null && seen !== undefined && seen !== false) return seen
    await new Promise(resolve => setTimeout(resolve, POLL_MS))
  }
  assert.fail(`it did not come to pass that ${what}`)
}

/** What ends with a test, or with a script that calls `end` itself. */
export type Ending = Pick<TestContext, 'after'>

export class Endings implements Ending {
  readonly #endings: (() => unknown)[] = []

  after(ending?: unknown): void {
    this.#endings.push(ending as () => unknown)
  }

  async end(): Promise<void> {
    for (const ending of this.#endings.splice(0).reverse()) await ending()
  }
}

/** A directory that goes away with the test. */
export function directoryFor(t: Ending): string {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'svc-test-')))
  t.after(() => rmSync(path, { recursive: true, force: true }))
  return path
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** Programs and threads of tests load their modules as `svc` does: a thread with flags of its own has none of its parent's. */
export const QUICKLY = [
  '--disable-warning=ExperimentalWarning',
  '--require',
  join(ROOT, 'clients/cli/start/quick-loading.js'),
]

/** What programs and engines compile is compiled once for all tests: a sixth of what the start of an engine costs. */
const COMPILED = { NODE_COMPILE_CACHE: join(ROOT, 'node_modules/.cache/tests') }

export interface SpawnedOptions {
  readonly cwd: string
  readonly argv?: readonly string[]
  /** On top of an environment without any setting of ours. */
  readonly environment?: Readonly<Record<string, string>>
  /** The user to run as; for a test that runs as root. */
  readonly uid?: number
}

/** A process of the test, ended with it. */
export class Spawned {
  readonly child: ChildProcess
  stdout = ''
  stderr = ''
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>

  constructor(t: Ending, command: string, argv: readonly string[], options: SpawnedOptions) {
    this.child = spawn(command, argv, {
      cwd: options.cwd,
      env: { PATH: process.env['PATH'], HOME: options.cwd, ...COMPILED, ...options.environment },
      stdio: ['pipe', 'pipe', 'pipe'],
      ...(options.uid === undefined ? {} : { uid: options.uid, gid: options.uid }),
    })
    endedWithUs(this.child)
    this.child.stdout!.setEncoding('utf8').on('data', text => (this.stdout += text))
    this.child.stderr!.setEncoding('utf8').on('data', text => (this.stderr += text))
    this.ended = new Promise(resolve => this.child.once('close', (code, signal) => resolve({ code, signal })))
    t.after(async () => {
      if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill('SIGTERM')
      const gone = setTimeout(() => this.child.kill('SIGKILL'), PATIENCE_MS)
      await this.ended
      clearTimeout(gone)
    })
  }

  static svc(t: Ending, options: SpawnedOptions): Spawned {
    return new Spawned(t, join(ROOT, 'svc'), options.argv ?? [], options)
  }

  /** `svc serve` around a fake engine. */
  static serveFake(t: Ending, options: SpawnedOptions): Spawned {
    const program = join(ROOT, 'test/kit/svc-serve-fake.ts')
    return new Spawned(
      t,
      process.execPath,
      [...QUICKLY, program, ...(options.argv ?? ['--port', '0', '--plain'])],
      options,
    )
  }

  /** The address in the line that `--plain` prints. */
  ready(): Promise<string> {
    return eventually('the engine is ready', () => {
      if (this.child.exitCode !== null) assert.fail(`it ended with ${this.child.exitCode}: ${this.stderr}`)
      return /^ready (\S+)$/m.exec(this.stdout)?.[1]
    })
  }

  stderrShows(text: string | RegExp): Promise<true> {
    const shows = () => (typeof text === 'string' ? this.stderr.includes(text) : text.test(this.stderr))
    return eventually(`stderr shows ${text}: ${this.stderr}`, () => shows() || null)
  }
}
