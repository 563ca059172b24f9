import { JournalReader } from '../../core/memory/journal/reader.ts'
import { JOURNAL } from '../../core/memory/journal/record.ts'
import type { JournalVisitor, RecordView } from '../../core/memory/journal/view.ts'
import type { Memory } from '../../core/memory/region.ts'
import { SLOT } from '../../core/memory/threads.ts'
import { Sleeper } from '../../core/memory/wait.ts'
import { limits } from '../../protocol/limits.ts'
import { fatal } from '../watch/fatal.ts'
import type { CascadeCounts } from './cascade-counts.ts'
import { ACCEPT, type Acceptance, type Fanout } from './fanout.ts'
import type { PassingValue, TracedValue } from './passing-value.ts'
import type { ValueWaits } from './value-waits.ts'
import { ValuesAhead } from './values-ahead.ts'

export interface JournalTapOptions {
  memory: Memory
  fanout: Fanout
  cascades: CascadeCounts
  waits?: ValueWaits
  /** Takes the values that it wants, whether anybody follows them or not. */
  watching?: { wants(message: number): boolean; see(value: PassingValue): void }
  decoder: { decodePlain(bytes: Uint8Array): unknown }
  /** A note of a thread: node errors, engine events, log lines, gauges; `{type, ...}`. */
  onNote: (note: Record<string, unknown>) => void
  /** An error that no user caused; it goes to the log, and the tap goes on behind the record. */
  onDefect: (error: unknown) => void
  slice_ms?: number
}

export interface JournalTapCounts {
  records: number
  /** Records that were overwritten before they were read. */
  missed: number
  slices: number
}

const SMALLEST_BYTES = 1024
const LARGEST_BYTES = 64 * 1024
/** While the tap never catches up, names that went quiet are brought up to date this often. */
const REFRESH_MS = 100
/** While no socket is open nobody waits for a value: writers are spared the wakes, for less time than they need to lap the tap. */
const NAP_MS = 10

/**
 * The front's end of all journal rings: values to the fan-out, notes to their handler, cascades to their counts.
 *
 *   asleep --a writer's wake--> draining --nothing left--> asleep
 *                               draining --nothing left, no socket is open--> napping --NAP_MS--> draining
 *                               draining --slice used up--> draining, in the next turn of the event loop
 *
 * Latency while idle: a wake is served in the event-loop turn in which it comes. Throughput under load: slices of
 * `limits.FRONT_SLICE_MS`, between which the event loop serves everything else.
 *
 * The rings are read one after the other, so a value of one ring can come before an older one of another. A publisher writes
 * its record before the next version is assigned; so once the tap has seen a version, those before it lie in the rings or
 * were lost, and a look at every ring finds them. Until then the newer value waits in `ValuesAhead`.
 */
export class JournalTap implements JournalVisitor {
  readonly #fanout: Fanout
  readonly #cascades: CascadeCounts
  readonly #waits: ValueWaits | null
  readonly #watching: JournalTapOptions['watching'] | null
  readonly #decoder: JournalTapOptions['decoder']
  readonly #onNote: JournalTapOptions['onNote']
  readonly #onDefect: JournalTapOptions['onDefect']
  readonly #slice_ms: number
  readonly #sleeper: Sleeper
  readonly #readers: readonly JournalReader[]
  readonly #ahead = new ValuesAhead()
  /** Bytes that are read between two looks at the clock; adapts to what the records cost. */
  #step_bytes = LARGEST_BYTES
  /** The ring to go on with. */
  #next = 0
  /** Rings in a row that had nothing left. */
  #empty = 0
  #missed = 0
  #refresh = false
  #refreshed_ms = 0
  #records = 0
  #slices = 0
  #mode: 'new' | 'running' | 'stopped' = 'new'
  #ended: (() => void) | null = null
  #nap: NodeJS.Timeout | undefined
  /** Records read when the last nap began: one that brought nothing is followed by sleep. */
  #napped_at = 0

  /** Takes the rings from their start: make it before the threads that write them. */
  constructor(options: JournalTapOptions) {
    this.#fanout = options.fanout
    this.#cascades = options.cascades
    this.#waits = options.waits ?? null
    this.#watching = options.watching ?? null
    this.#decoder = options.decoder
    this.#onNote = options.onNote
    this.#onDefect = options.onDefect
    this.#slice_ms = options.slice_ms ?? limits.FRONT_SLICE_MS
    this.#sleeper = new Sleeper(options.memory, SLOT.front)
    const rings = Array.from({ length: options.memory.sizes.rings }, (_, slot) => slot)
    this.#readers = rings.map(slot => new JournalReader(options.memory, slot, 'front'))
  }

  start(): void {
    if (this.#mode !== 'new') throw new RangeError('a tap starts once')
    this.#mode = 'running'
    this.#turn()
  }

  /** Reads what is there, then ends. The writers have stopped before. */
  async stop(): Promise<void> {
    if (this.#mode === 'running') {
      this.#mode = 'stopped'
      await new Promise<void>(resolve => {
        this.#ended = resolve
        this.#sleeper.cancel()
        clearTimeout(this.#nap)
        setImmediate(this.#turn)
      })
    }
    this.drainAll()
  }

  /** Everything that is in the rings now, however long it takes. */
  drainAll(): void {
    for (let tries = 0; this.#slice(Number.POSITIVE_INFINITY) && tries < 1000; tries++);
  }

  counts(): JournalTapCounts {
    return { records: this.#records, missed: this.#missed, slices: this.#slices }
  }

  // ---------------------------------------------------------------- the loop

  /** Somebody waits for a value: a nap is over. */
  wake(): void {
    if (this.#nap === undefined || this.#mode !== 'running') return
    clearTimeout(this.#nap)
    this.#nap = undefined
    setImmediate(this.#turn)
  }

  readonly #turn = (): void => {
    this.#nap = undefined
    if (this.#ended !== null) {
      this.#ended()
      return
    }
    if (this.#slice(performance.now() + this.#slice_ms)) {
      setImmediate(this.#turn)
      return
    }
    if (this.#records !== this.#napped_at && this.#fanout.isAlone && (this.#waits?.isEmpty ?? true)) {
      this.#napped_at = this.#records
      this.#nap = setTimeout(this.#turn, NAP_MS)
      return
    }
    const ticket = this.#sleeper.announce()
    if (this.#isAnythingThere()) {
      this.#sleeper.cancel()
      setImmediate(this.#turn)
      return
    }
    // Without the tap nobody would see a value again.
    this.#sleeper.sleepAsync(ticket, Number.POSITIVE_INFINITY).then(this.#turn).catch(fatal)
  }

  #isAnythingThere(): boolean {
    for (const reader of this.#readers) if (reader.waiting() !== 0) return true
    return false
  }

  /** Reads until nothing is left, the time is up or a batch is full; true when something is left. */
  #slice(until_ms: number): boolean {
    this.#slices++
    this.#fanout.startBatch()
    const isMore = this.#drain(until_ms)
    this.#fanout.endBatch()
    return isMore
  }

  #drain(until_ms: number): boolean {
    const fanout = this.#fanout
    let now_ms = performance.now()
    do {
      const reader = this.#readers[this.#next]!
      if (reader.waiting() === 0) this.#empty++
      else {
        const before = fanout.batch
        this.#empty = 0
        this.#records += reader.drain(this, this.#step_bytes)
        if (reader.waiting() === 0) this.#empty = 1
        const then_ms = now_ms
        now_ms = performance.now()
        const published = fanout.batch - before
        this.#adapt(now_ms - then_ms, published)
        // Another step like this one would not fit in the batch.
        if (fanout.batch + published > limits.SOCKET_BATCH && until_ms !== Number.POSITIVE_INFINITY) until_ms = 0
      }
      if (++this.#next === this.#readers.length) this.#endRound(now_ms)
      if (this.#empty >= this.#readers.length) {
        this.#empty = 0
        this.#settle()
        return false
      }
    } while (now_ms < until_ms)
    return true
  }

  #adapt(took_ms: number, published: number): void {
    if (published > limits.SOCKET_BATCH) this.#step_bytes = SMALLEST_BYTES
    else if (took_ms > this.#slice_ms / 4) this.#step_bytes = Math.max(SMALLEST_BYTES, this.#step_bytes / 2)
    else if (published === 0 && took_ms < this.#slice_ms / 16)
      this.#step_bytes = Math.min(LARGEST_BYTES, this.#step_bytes * 2)
  }

  /** Every ring had its turn. */
  #endRound(now_ms: number): void {
    this.#next = 0
    let missed = 0
    for (const reader of this.#readers) missed += reader.missed()
    if (missed !== this.#missed) this.#refresh = true
    this.#missed = missed
    if (this.#ahead.size > 0) this.#ahead.release(this, this.#ahead.isFull ? 'all' : 'next')
    if (!this.#refresh || now_ms - this.#refreshed_ms < REFRESH_MS) return
    this.#refreshed_ms = now_ms
    this.#fanout.refreshAll()
  }

  /** Every ring was seen empty since the last record: what is missing before a value that waits was lost. */
  #settle(): void {
    if (this.#ahead.size > 0) this.#ahead.release(this, 'all')
    if (!this.#refresh) return
    this.#refresh = false
    this.#fanout.refreshAll()
  }

  // ---------------------------------------------------------------- records

  /** Held and scheduled values and what a lane took are the store's. */
  visit(record: RecordView): void {
    switch (record.kind) {
      case JOURNAL.value:
        this.#value(record)
        break
      case JOURNAL.cascade:
        this.#cascades.add(record.subject, record.duration_us, record.status, record.executions, record.errors)
        break
      case JOURNAL.note:
        this.#note(record)
    }
  }

  #value(record: RecordView): void {
    if (this.#watching?.wants(record.subject)) this.#see(this.#watching, record)
    if (this.#waits !== null && !this.#waits.isEmpty) this.#see(this.#waits, record)
    const acceptance = this.#fanout.accept(record.subject, record.version)
    if (acceptance === ACCEPT.no) return
    if (acceptance === ACCEPT.gap) this.#ahead.add(record)
    else this.deliver(record)
  }

  #see(eyes: { see(value: TracedValue): void }, record: RecordView): void {
    try {
      eyes.see(record)
    } catch (error) {
      this.#onDefect(error)
    }
  }

  accept(message: number, version: number): Acceptance {
    return this.#fanout.accept(message, version)
  }

  deliver(value: PassingValue): void {
    try {
      this.#fanout.value(value)
    } catch (error) {
      this.#onDefect(error)
    }
  }

  #note({ bytes, start, length }: RecordView): void {
    try {
      this.#onNote(this.#decoder.decodePlain(bytes.subarray(start, start + length)) as Record<string, unknown>)
    } catch (error) {
      this.#onDefect(error)
    }
  }
}
