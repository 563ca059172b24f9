import type { EngineEvent } from '../../../protocol/nouns/event.ts'
import type { Run } from '../../../protocol/nouns/run.ts'
import { pause } from '../calls.ts'
import type { LiveSocket } from '../live/live-socket.ts'
import type { List } from '../pages.ts'
import type { Address } from '../socket.ts'
import { type Attempt, hasEnded, signalOf, Tolerance, type WaitOptions } from './run-wait.ts'

/** How often the record is looked at: without a socket for all that happens, else for what the socket may have missed. */
const POLL_MS = 1_000
const POLL_LIVE_MS = 5_000

/** The record of runs, as far as following one reads it: `Runs`. */
interface RunRecords {
  get(id: string, options: Attempt): Promise<Run>
  eventsPage(id: string, offset: number, options: Attempt): Promise<List<EngineEvent>>
}

/**
 * The events of a run, each once: as they come by the flows websocket, and from the record what was before it, what it did
 * not bring, and all of them while there is no socket. Returns the run when it has ended and its record was read.
 */
export async function* followRun(
  runs: RunRecords,
  address: Address,
  id: string,
  { signal, onPoll }: WaitOptions,
): AsyncGenerator<EngineEvent, Run, undefined> {
  const attempt: Attempt = { ...signalOf({ signal }), once: true }
  const tolerance = new Tolerance()
  const feed = new RunFeed(address, id)
  try {
    for (;;) {
      feed.wantsPoll = false
      try {
        // The run first: once it has ended, the events that are read after it are all there are.
        const run = await runs.get(id, attempt)
        const isOver = hasEnded(run)
        const events = await feed.unrecorded(runs, attempt, isOver)
        tolerance.succeeded()
        onPoll?.(run)
        if (!isOver) yield* events
        else {
          // What only the socket brings may still lie here, and is older than the end.
          yield* [...feed.take(), ...events].sort(byTime)
          return run
        }
      } catch (error) {
        signal?.throwIfAborted()
        tolerance.failed(error)
      }
      // The record goes before what the socket brings meanwhile, which is younger.
      for (const next_ms = performance.now() + (feed.isLive ? POLL_LIVE_MS : POLL_MS); !feed.wantsPoll; ) {
        yield* feed.take()
        const left_ms = next_ms - performance.now()
        if (left_ms <= 0) break
        await feed.change(left_ms, signal)
      }
    }
  } finally {
    feed.close()
  }
}

/** What the socket brings of one run, and which events were handed on. */
class RunFeed {
  /** The socket follows. */
  isLive = false
  /** Something can only be known from the record: the end of the run, or what was missed. */
  wantsPoll = false
  readonly #id: string
  readonly #seen = new Set<string>()
  readonly #queue: EngineEvent[] = []
  #socket: LiveSocket | null = null
  #isClosed = false
  #wake = (): void => {}

  constructor(address: Address, id: string) {
    this.#id = id
    void this.#open(address)
  }

  /** New events since the last time, oldest first, but for the end, which the record tells. */
  *take(): Generator<EngineEvent, void, undefined> {
    for (let event = this.#queue.shift(); event !== undefined; event = this.#queue.shift()) {
      if (event.type === 'run_finished') this.wantsPoll = true
      else if (this.#isNew(event)) yield event
    }
  }

  /** Events of the record that were not handed on yet, oldest first; the end only of a run that is known to be over. */
  async unrecorded(runs: RunRecords, attempt: Attempt, isOver: boolean): Promise<EngineEvent[]> {
    const found: EngineEvent[] = []
    for (let offset = 0; ; ) {
      const { items, count } = await runs.eventsPage(this.#id, offset, attempt)
      found.push(...items.filter(event => !this.#seen.has(textOf(event))))
      offset += items.length
      if (items.length > 0 && offset < count && this.#seen.size + found.length < count) continue
      return found.reverse().filter(event => {
        if (isOver || event.type !== 'run_finished') return this.#isNew(event)
        this.wantsPoll = true
        return false
      })
    }
  }

  /** Resolves when the socket has something to say, or after the time. */
  async change(most_ms: number, signal: AbortSignal | undefined): Promise<void> {
    if (this.#queue.length > 0 || this.wantsPoll) return
    const woken = new AbortController()
    this.#wake = () => woken.abort()
    const either = signal === undefined ? woken.signal : AbortSignal.any([signal, woken.signal])
    await pause(most_ms, either).catch(() => signal?.throwIfAborted())
  }

  close(): void {
    this.#isClosed = true
    this.#socket?.close()
  }

  #isNew(event: EngineEvent): boolean {
    return this.#seen.size < this.#seen.add(textOf(event)).size
  }

  async #open(address: Address): Promise<void> {
    const { LiveSocket } = await import('../live/live-socket.ts')
    if (this.#isClosed) return
    this.#socket = new LiveSocket({
      find: () => address,
      onFollowing: () => {
        this.isLive = true
        // Whatever was before is in the record.
        this.wantsPoll = true
        this.#wake()
      },
      onLink: url => {
        if (url === null) this.isLive = false
        this.#wake()
      },
      onEvent: event => {
        if (event.type === 'events_missed') this.wantsPoll = true
        else if (event.run === this.#id) this.#queue.push(event)
        else return
        this.#wake()
      },
      // The record tells the same, and whether the engine is there at all.
      onFailure: () => {},
    })
  }
}

const byTime = (a: EngineEvent, b: EngineEvent): number => (a.ts < b.ts ? -1 : a.ts > b.ts ? 1 : 0)

/** The record and the socket may name the members of an event in different order. */
const textOf = (event: EngineEvent): string =>
  JSON.stringify(Object.entries(event).sort(([a], [b]) => (a < b ? -1 : 1)))
