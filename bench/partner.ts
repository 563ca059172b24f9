/**
 * A process of its own that a bench talks to: a load generator, a floor or a rival. `Partner.start` runs the file and asks
 * it by name; the file itself calls `answer({name: handler})`. Asks travel over node's own channel between processes.
 */
import { type ChildProcess, spawn } from 'node:child_process'

type Told = { id: number; value?: unknown; error?: string }

const STOP_TIMEOUT_MS = 3_000

/** Every partner that runs; `endPartners` ends what a failed bench left behind. */
const running = new Set<Partner>()

export class Partner {
  readonly #child: ChildProcess
  readonly #waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>()
  #next = 1
  #said = ''

  private constructor(child: ChildProcess, name: string) {
    this.#child = child
    child.stderr?.setEncoding('utf8').on('data', text => (this.#said = (this.#said + text).slice(-4000)))
    child.on('error', error => (this.#said += error.message))
    child.on('message', (told: Told) => {
      const ask = this.#waiting.get(told.id)
      this.#waiting.delete(told.id)
      if (told.error !== undefined) ask?.reject(new Error(`${name}: ${told.error}`))
      else ask?.resolve(told.value)
    })
    child.on('exit', (code, signal) => {
      running.delete(this)
      const error = new Error(`${name} ended (${signal ?? code}): ${this.#said.trim()}`)
      for (const ask of this.#waiting.values()) ask.reject(error)
      this.#waiting.clear()
    })
    running.add(this)
  }

  /** Resolves when the file has called `answer`. */
  static async start(
    file: string,
    words: readonly string[] = [],
    options: { cwd?: string; env?: NodeJS.ProcessEnv; flags?: readonly string[] } = {},
  ): Promise<Partner> {
    const child = spawn(process.execPath, [...(options.flags ?? []), file, ...words], {
      cwd: options.cwd,
      env: options.env ?? process.env,
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      serialization: 'advanced',
    })
    const partner = new Partner(child, file.slice(file.lastIndexOf('/') + 1))
    await partner.ask('ready')
    return partner
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  ask<Answer>(name: string, value?: unknown): Promise<Answer> {
    const id = this.#next++
    return new Promise<Answer>((resolve, reject) => {
      this.#waiting.set(id, { resolve: resolve as (value: unknown) => void, reject })
      this.#child.send({ id, name, value }, error => {
        if (error === null || !this.#waiting.delete(id)) return
        reject(error)
      })
    })
  }

  /** Closes the channel, upon which the process ends by itself; kills it when it does not. Waits for its end. */
  stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return Promise.resolve()
    return new Promise(resolve => {
      const killing = setTimeout(() => this.#child.kill('SIGKILL'), STOP_TIMEOUT_MS)
      this.#child.once('exit', () => {
        clearTimeout(killing)
        resolve()
      })
      if (this.#child.connected) this.#child.disconnect()
    })
  }
}

export async function endPartners(): Promise<void> {
  await Promise.all([...running].map(partner => partner.stop()))
}

/** The other side: called once by the file that a partner runs. The process ends with the one that started it. */
export function answer(handlers: Record<string, (value: never) => unknown>): void {
  process.on('message', async (asked: { id: number; name: string; value: never }) => {
    const told: Told = { id: asked.id }
    try {
      const handler = asked.name === 'ready' ? () => null : handlers[asked.name]
      if (handler === undefined) throw new RangeError(`nobody answers ${asked.name}`)
      told.value = await handler(asked.value)
    } catch (error) {
      told.error = error instanceof Error ? (error.stack ?? error.message) : String(error)
    }
    process.send?.(told)
  })
  process.on('disconnect', () => process.exit(0))
}
