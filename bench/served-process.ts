import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

/** A command that serves HTTP and says so with `ready <address>`; what it took to answer, and what it holds. */
export class ServedProcess {
  readonly #child: ChildProcess
  readonly #began_ms = performance.now()
  #said = ''
  #ended = false

  /** The command ends when its stdin does or on SIGTERM; whichever it understands. */
  constructor(command: string, words: readonly string[], options: { cwd: string; env?: NodeJS.ProcessEnv }) {
    this.#child = spawn(command, words, { ...options, stdio: ['pipe', 'pipe', 'pipe'], detached: true })
    for (const stream of [this.#child.stdout!, this.#child.stderr!]) {
      stream.setEncoding('utf8').on('data', text => (this.#said = (this.#said + text).slice(-8000)))
    }
    this.#child.on('error', error => (this.#said += error.message))
    this.#child.on('exit', () => (this.#ended = true))
  }

  /** Milliseconds from the start of the command to its first answer 200 for the path; `url` when it prints none. */
  async firstAnswer(path: string, url?: string): Promise<{ url: string; ms: number }> {
    for (;;) {
      if (this.#ended) throw new Error(`the command ended: ${this.#said.trim()}`)
      const address = url ?? /ready (http:\/\/\S+)/.exec(this.#said)?.[1]
      if (address !== undefined && (await status(`${address}${path}`)) === 200) {
        return { url: address, ms: performance.now() - this.#began_ms }
      }
      await sleep(2)
    }
  }

  /** Resident bytes of the command and everything that it started. */
  residentBytes(): number {
    const children = new Map<number, number[]>()
    const resident = new Map<number, number>()
    for (const entry of readdirSync('/proc')) {
      const pid = Number(entry)
      if (!Number.isInteger(pid)) continue
      const text = read(`/proc/${pid}/status`)
      const parent = Number(/^PPid:\s+(\d+)/m.exec(text)?.[1])
      children.set(parent, [...(children.get(parent) ?? []), pid])
      resident.set(pid, Number(/^VmRSS:\s+(\d+)/m.exec(text)?.[1] ?? 0) * 1024)
    }
    const sum = (pid: number): number =>
      (children.get(pid) ?? []).reduce((total, child) => total + sum(child), resident.get(pid) ?? 0)
    return sum(this.#child.pid ?? 0)
  }

  /** Asks it to end, kills its whole group when it does not, and waits. */
  async stop(): Promise<void> {
    if (this.#ended) return
    const ended = new Promise<void>(resolve => this.#child.once('exit', () => resolve()))
    this.#child.stdin?.end()
    this.#child.kill('SIGTERM')
    const killing = setTimeout(() => process.kill(-this.#child.pid!, 'SIGKILL'), 5_000)
    await ended
    clearTimeout(killing)
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

function status(url: string): Promise<number> {
  return new Promise(resolve => {
    request(url, { agent: false }, response => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
      .on('error', () => resolve(0))
      .end()
  })
}
