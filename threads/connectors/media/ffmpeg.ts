import { type ChildProcess, spawn } from 'node:child_process'
import type { Readable } from 'node:stream'
import { limits } from '../../../protocol/limits.ts'
import type { Programs } from './programs.ts'

/** Variables that ffmpeg, and the sound systems that it loads, may read; the others may hold what is none of its business. */
const VARIABLES = ['PATH', 'HOME', 'LANG', 'XDG_RUNTIME_DIR', 'http_proxy', 'https_proxy', 'no_proxy']

/** One ffmpeg, from its start to its end. */
export class Ffmpeg {
  readonly #child: ChildProcess
  readonly #ended = Promise.withResolvers<void>()
  #printed = ''
  #has_ended = false

  /** `pipes`: how many outputs it writes, to the descriptors 1, 3, 4 and so on. */
  constructor(programs: Programs, words: readonly string[], pipes: number) {
    const always = ['-nostdin', '-hide_banner', '-loglevel', 'error']
    // The signal is tied to the thread that starts it: it ends with the connectors thread, and so with the engine, whatever ends that.
    const child = spawn(programs.setpriv, ['--pdeathsig', 'KILL', programs.ffmpeg, ...always, ...words], {
      stdio: ['ignore', 'pipe', 'pipe', ...Array<'pipe'>(pipes - 1).fill('pipe')],
      env: Object.fromEntries(
        VARIABLES.flatMap(name => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
      ),
    })
    this.#child = child
    const end = (): void => {
      this.#has_ended = true
      this.#ended.resolve()
    }
    // First: without file descriptors for its pipes there are no streams below.
    child.on('error', error => {
      this.#printed = error.message
      end()
    })
    child.stderr?.setEncoding('latin1')
    child.stderr?.on(
      'data',
      (text: string) => (this.#printed = (this.#printed + text).slice(-limits.MEDIA_STDERR_BYTES)),
    )
    for (const stream of this.#streams) stream.on('error', () => {})
    // Not `exit`: what it wrote before it ended is read first.
    child.on('close', end)
  }

  /** One for each descriptor, in order. */
  get outputs(): readonly Readable[] {
    return this.#streams.filter(stream => stream !== this.#child.stderr)
  }

  get #streams(): readonly Readable[] {
    return (this.#child.stdio ?? []).filter(stream => stream !== null) as Readable[]
  }

  /** Resolves when it has ended and all that it wrote was read. The exit status means nothing: a stream that timed out gives 0. */
  get ended(): Promise<void> {
    return this.#ended.promise
  }

  /** The last line that it printed since `forget`, without the part of ffmpeg that printed it. */
  get last_words(): string {
    const is_cut = this.#printed.length === limits.MEDIA_STDERR_BYTES
    // The start of a line that long is lost, and it may be the one by which credentials are known.
    if (is_cut && !/[\r\n]/.test(this.#printed.trimEnd())) return ''
    return this.#printed
      .trimEnd()
      .split(/[\r\n]+/)
      .at(-1)!
      .replace(/^\[[^\]]*\] /, '')
  }

  /** What it has printed so far was no reason to end. */
  forget(): void {
    if (this.#printed !== '') this.#printed = ''
  }

  /** Asks it to end, so that it signs off at a camera; after a second it is killed. */
  async end(): Promise<void> {
    if (this.#has_ended) return
    // With a full pipe it would not look at the signal.
    for (const output of this.outputs) output.removeAllListeners('data').resume()
    this.#child.kill('SIGTERM')
    const late = setTimeout(() => this.kill(), limits.MEDIA_END_MS)
    await this.ended
    clearTimeout(late)
  }

  kill(): void {
    if (!this.#has_ended) this.#child.kill('SIGKILL')
    // A child of ffmpeg, or a script in its place, may hold the pipes.
    for (const stream of this.#streams) stream.destroy()
  }
}
