import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { endedWithUs } from './orphans.ts'
import { ROOT } from './sources.ts'
import { directoryFor, type Ending, eventually } from './spawned.ts'

const TMUX = '/usr/bin/tmux'

/** For the options of a test that needs a terminal: why it cannot run here, or false. */
export const skip = existsSync(TMUX) ? false : 'needs the terminal multiplexer tmux: it is not installed'

export interface TerminalOptions {
  readonly columns?: number
  readonly rows?: number
  /** What follows `svc`; or `program`, a file of the kit, with its arguments. */
  readonly argv: readonly string[]
  readonly program?: string
  readonly environment?: Readonly<Record<string, string>>
  readonly cwd?: string
}

let terminals = 0

/** Says in what state a program left its terminal, and keeps the terminal open. */
const RUN = `
# Ctrl-C is for the program alone.
trap : INT
before=$(stty -g)
sh "$1"
code=$?
after=$(stty -g)
echo
echo "ended with $code"
if [ "$before" = "$after" ]; then echo "modes as before"; else echo "modes changed: $after"; fi
exec cat
`

/** A terminal of a test, with a program in it: Debian's tmux, which draws what is sent to it and answers how it looks. */
export class Terminal {
  readonly #name: string
  readonly #pid_file: string

  private constructor(name: string, pid_file: string) {
    this.#name = name
    this.#pid_file = pid_file
  }

  static async start(t: Ending, options: TerminalOptions): Promise<Terminal> {
    const { columns = 80, rows = 24, argv, program, environment = {} } = options
    const folder = directoryFor(t)
    const name = `svc-test-${process.pid}-${terminals++}`
    const server = spawn(TMUX, ['-L', name, '-f', '/dev/null', '-D'], {
      stdio: 'ignore',
      env: { PATH: process.env['PATH'], HOME: folder, LC_ALL: 'C.UTF-8', TERM: 'xterm-256color' },
    })
    endedWithUs(server)
    const ended = once(server, 'exit')
    t.after(async () => {
      server.kill('SIGTERM')
      await ended
    })
    const terminal = new Terminal(name, join(folder, 'pid'))
    await eventually('tmux answers', () => terminal.#tmux('list-commands', 'kill-server').code === 0)
    const words = program === undefined ? [join(ROOT, 'svc'), ...argv] : [process.execPath, program, ...argv]
    const run = join(folder, 'run.sh')
    const exports = Object.entries({ LC_ALL: 'C.UTF-8', HOME: folder, ...environment })
    const lines = [
      ...exports.map(([key, value]) => `export ${key}=${quoted(value)}`),
      `echo $$ > ${quoted(terminal.#pid_file)}`,
      `exec ${words.map(quoted).join(' ')}`,
    ]
    writeFileSync(run, lines.join('\n'))
    const size = ['-x', String(columns), '-y', String(rows), '-c', options.cwd ?? folder]
    const started = terminal.#tmux('new-session', '-d', ...size, 'sh', '-c', RUN, 'sh', run)
    assert.equal(started.code, 0, started.text)
    terminal.#tmux('set-option', '-g', 'status', 'off')
    terminal.#tmux('set-option', '-g', 'escape-time', '0')
    return terminal
  }

  /** Of the program. */
  get pid(): number {
    return Number(readFileSync(this.#pid_file, 'utf8'))
  }

  /** The rows as they are shown, without what is empty at their ends. */
  get lines(): string[] {
    return this.#tmux('capture-pane', '-p').text.split('\n').slice(0, -1)
  }

  get text(): string {
    return this.lines.join('\n')
  }

  /** With the escape sequences of its styles. */
  get styled(): string {
    return this.#tmux('capture-pane', '-p', '-e').text
  }

  /** Whether it is the second screen that is shown, and whether the cursor is. */
  get state(): { second: boolean; cursor: boolean } {
    const [second, cursor] = this.#tmux('display-message', '-p', '#{alternate_on} #{cursor_flag}')
      .text.trim()
      .split(' ')
    return { second: second === '1', cursor: cursor === '1' }
  }

  /** As tmux calls them: `Enter`, `Escape`, `C-c`, or letters. */
  press(...keys: string[]): void {
    this.#tmux('send-keys', ...keys)
  }

  resize(columns: number, rows: number): void {
    this.#tmux('resize-window', '-x', String(columns), '-y', String(rows))
  }

  shows(what: string | RegExp): Promise<string> {
    const isThere = (text: string): boolean => (typeof what === 'string' ? text.includes(what) : what.test(text))
    let last = ''
    return eventually(`the terminal shows ${what}`, () => {
      last = this.text
      return isThere(last) && last
    }).catch(error => {
      throw new Error(`${error.message}; it showed:\n${last}`)
    })
  }

  /** The program has ended, and the terminal is as it was: what is on its first screen. */
  async isGivenBack(code: number): Promise<string> {
    const text = await this.shows(/^ended with \d+$.*^modes/ms)
    assert.match(text, new RegExp(`^ended with ${code}$`, 'm'), text)
    assert.match(text, /^modes as before$/m, text)
    assert.deepEqual(this.state, { second: false, cursor: true })
    return text
  }

  #tmux(...argv: string[]): { code: number | null; text: string } {
    const { status, stdout, stderr } = spawnSync(TMUX, ['-L', this.#name, ...argv], {
      encoding: 'utf8',
      env: { PATH: process.env['PATH'], LC_ALL: 'C.UTF-8', HOME: '/' },
    })
    return { code: status, text: status === 0 ? stdout : stderr }
  }
}

const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`
