import { limits } from '../../../protocol/limits.ts'
import { BackOff } from '../back-off.ts'
import type { ConnectorHost, Shareable } from '../connector.ts'
import { Ffmpeg } from './ffmpeg.ts'
import type { MediaInput } from './input.ts'
import { findPrograms, type Programs } from './programs.ts'

/** Why ffmpeg must not go on. */
export interface Fault {
  readonly reason: string
  /** Nothing is wrong: it is started again, with other words. */
  readonly at_once?: boolean
}

/** What a capture makes of its input. */
export interface Recipe<Item> {
  readonly input: MediaInput
  /** What an item is called: `frame`. */
  readonly unit: string
  /** Milliseconds between two items, as far as it is known. */
  readonly interval_ms: number
  /** After the words that every ffmpeg gets. */
  words(): readonly string[]
  /** Readers of what one ffmpeg writes, one for each of its outputs. They give items, and may find a fault. */
  readers(give: (item: Item) => void): readonly ((bytes: Buffer) => Fault | null)[]
}

export interface CaptureListener<Item> {
  item(item: Item): void
  ok(): void
  down(reason: string): void
}

/** What a test changes. */
export interface CaptureBounds {
  readonly start_ms: number
  readonly stall_ms: number
  readonly programs: () => Promise<Programs | string>
}

const BOUNDS: CaptureBounds = {
  start_ms: limits.MEDIA_START_MS,
  stall_ms: limits.MEDIA_STALL_MS,
  programs: () => findPrograms(),
}

/** Gaps between items that are looked at to know what a stall is. */
const GAPS = 8

/**
 * One outside thing that is captured by an ffmpeg, whatever its end and however often.
 *
 *   starting --the first item--> running --it ends, stalls, or writes nonsense--> waiting --back-off--> starting
 *   starting --it ends, or nothing comes--> waiting
 *   running --a file that is played once ends--> finished
 *   any --close--> closed
 *
 * It is down from the first fault to the next item.
 */
export class Capture<Item> implements Shareable {
  readonly #recipe: Recipe<Item>
  readonly #clock: Pick<ConnectorHost, 'steadyMs'>
  readonly #back_off: BackOff
  readonly #bounds: CaptureBounds
  readonly #listeners = new Set<CaptureListener<Item>>()
  readonly #closing = new AbortController()
  #ended: Promise<void> = Promise.resolve()
  /** Null: well. Undefined: nothing is known yet. */
  #down: string | null | undefined
  #ffmpeg: Ffmpeg | null = null
  #begun = false

  constructor(
    recipe: Recipe<Item>,
    clock: Pick<ConnectorHost, 'steadyMs' | 'random'>,
    bounds: Partial<CaptureBounds> = {},
  ) {
    this.#recipe = recipe
    this.#clock = clock
    this.#back_off = new BackOff(() => clock.random())
    this.#bounds = { ...BOUNDS, ...bounds }
  }

  /** The first one starts it. */
  join(listener: CaptureListener<Item>): void {
    this.#listeners.add(listener)
    if (this.#down === null) listener.ok()
    else if (this.#down !== undefined) listener.down(this.#down)
    if (this.#begun) return
    this.#begun = true
    this.#ended = this.#run()
  }

  /** Resolves when the thing is free, where this was the last one. */
  async leave(listener: CaptureListener<Item>): Promise<void> {
    this.#listeners.delete(listener)
    if (this.#listeners.size === 0) await this.close()
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#ffmpeg?.end()
    await this.#ended
  }

  async #run(): Promise<void> {
    while (!this.#closing.signal.aborted) {
      const fault = await this.#capture()
      if (fault === null || this.#closing.signal.aborted) return
      if (fault.at_once) continue
      const { input } = this.#recipe
      const reason = input.masked(fault.reason).slice(0, limits.MEDIA_REASON_CHARACTERS)
      this.#say(reason.startsWith(input.shown) ? reason : `${input.shown}: ${reason}`)
      await this.#pause(this.#back_off.failed())
    }
  }

  /** One ffmpeg. Null: it has come to its regular end. */
  async #capture(): Promise<Fault | null> {
    const { input, unit } = this.#recipe
    const programs = await this.#bounds.programs()
    if (typeof programs === 'string') return { reason: programs }
    const missing = await input.fault()
    if (missing !== null) return { reason: missing }
    if (this.#closing.signal.aborted) return null
    const run = new Run(this.#clock.steadyMs())
    const ffmpeg = new Ffmpeg(programs, this.#recipe.words(), this.#outputs())
    this.#ffmpeg = ffmpeg
    let fault: Fault | null = null
    const give = (item: Item): void => {
      run.item(this.#clock.steadyMs())
      ffmpeg.forget()
      this.#say(null)
      for (const listener of this.#listeners) listener.item(item)
    }
    const end = (found: Fault): void => {
      fault ??= found
      ffmpeg.kill()
    }
    for (const [at, read] of this.#recipe.readers(give).entries())
      ffmpeg.outputs[at]?.on('data', (bytes: Buffer) => {
        if (fault !== null || this.#closing.signal.aborted) return
        const found = read(bytes)
        if (found !== null) end(found)
      })
    const stalled = (): boolean => run.silent_ms(this.#clock.steadyMs()) > this.#patience_ms(run)
    const look = setInterval(() => {
      // What waits in the pipe is read first: this thread itself may have been late.
      if (stalled())
        setImmediate(() => stalled() && end({ reason: `no ${unit} for ${seconds(this.#patience_ms(run))}` }))
    }, limits.MEDIA_LOOK_MS)
    await ffmpeg.ended
    clearInterval(look)
    this.#ffmpeg = null
    if (run.lasted_ms >= limits.MEDIA_STEADY_MS) this.#back_off.succeeded()
    if (fault !== null) return fault
    if (run.items > 0 && input.ends) return null
    const ended = run.items > 0 ? 'the stream ended' : `ffmpeg ended without a ${unit}`
    // Its last words then say how to go without one.
    const words = /add a trailing '\?' to the map/.test(ffmpeg.last_words)
      ? `there is nothing in it to take a ${unit} from`
      : ffmpeg.last_words
    return { reason: run.items > 0 && words !== '' ? `${ended}: ${words}` : words || ended }
  }

  #outputs(): number {
    return this.#recipe.readers(() => {}).length
  }

  #patience_ms(run: Run): number {
    const { start_ms, stall_ms } = this.#bounds
    const { interval_ms } = this.#recipe
    // One frame tells no interval.
    if (run.items === 0 || (run.items === 1 && interval_ms === 0)) return start_ms + interval_ms
    return Math.max(stall_ms, limits.MEDIA_STALL_INTERVALS * Math.max(interval_ms, run.longest_gap_ms))
  }

  #say(down: string | null): void {
    if (down === this.#down) return
    this.#down = down
    for (const listener of this.#listeners) {
      if (down === null) listener.ok()
      else listener.down(down)
    }
  }

  #pause(pause_ms: number): Promise<void> {
    return new Promise(resolve => {
      const over = (): void => {
        clearTimeout(timer)
        this.#closing.signal.removeEventListener('abort', over)
        resolve()
      }
      const timer = setTimeout(over, pause_ms)
      this.#closing.signal.addEventListener('abort', over)
    })
  }
}

/** What is known of one ffmpeg while it runs. */
class Run {
  readonly #began_ms: number
  readonly #gaps_ms: number[] = []
  #first_ms = 0
  #last_ms = 0
  items = 0

  constructor(now_ms: number) {
    this.#began_ms = now_ms
  }

  item(now_ms: number): void {
    if (this.items++ === 0) this.#first_ms = now_ms
    // Not the first ones: they come together, or after a while.
    else this.#gaps_ms[this.items % GAPS] = now_ms - this.#last_ms
    this.#last_ms = now_ms
  }

  /** Of the last few. */
  get longest_gap_ms(): number {
    return Math.max(0, ...this.#gaps_ms.filter(gap => gap !== undefined))
  }

  /** From the first item to the last. */
  get lasted_ms(): number {
    return this.#last_ms - this.#first_ms
  }

  silent_ms(now_ms: number): number {
    return now_ms - (this.items === 0 ? this.#began_ms : this.#last_ms)
  }
}

const seconds = (ms: number): string => `${Math.round(ms / 100) / 10} s`
