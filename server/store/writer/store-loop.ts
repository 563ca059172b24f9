import { JournalReader } from '../../../core/memory/journal/reader.ts'
import { MessageTable, type ReadValue } from '../../../core/memory/messages.ts'
import type { Memory } from '../../../core/memory/region.ts'
import { SLOT } from '../../../core/memory/threads.ts'
import { Sleeper } from '../../../core/memory/wait.ts'
import { KIND } from '../../../protocol/values/encoded.ts'
import type { StoreBounds } from '../file/bounds.ts'
import type { Answer } from '../front/replies.ts'
import { hasPayload, type LastValue } from '../history/series.ts'
import { Cut } from './cut.ts'
import type { EngineStore } from './engine-store.ts'
import type { Waiting } from './group-commit.ts'

/** While something waits to be committed, the thread reads the rings at this interval instead of being woken for each mark. */
const LOOK_MS = 5
const IDLE_MS = 1000
const PROBE_MS = 500

/**
 * The store thread's round: take requests, read the rings up to their marks, commit when it is time, maintain the
 * file, sleep. It commits at once when a control write waits or many records were read; otherwise so that each commit has ended
 * `group_commit_ms` after the one before began. Run writes go into the redo log while no commit is due.
 */
export class StoreLoop {
  readonly #store: EngineStore
  readonly #bounds: StoreBounds
  readonly #readers: JournalReader[]
  readonly #messages: MessageTable
  readonly #ring_bytes: number
  readonly #cut: Cut
  readonly #sleeper: Sleeper
  readonly #waiting: Waiting[] = []
  readonly #answer: (answers: Answer[]) => void
  readonly #readPort: () => void
  readonly #now_ms: () => number
  /** When the last commit began, and how long it took. */
  #began_ms = 0
  #took_ms = 0
  #probed_ms = 0
  #closing = false
  #poked = false
  #wakeUp: (() => void) | null = null

  constructor(
    store: EngineStore,
    memory: Memory,
    bounds: StoreBounds,
    options: { readPort: () => void; answer: (answers: Answer[]) => void; now_ms: () => number },
  ) {
    this.#store = store
    this.#bounds = bounds
    this.#readers = Array.from({ length: memory.sizes.rings }, (_, slot) => new JournalReader(memory, slot, 'store'))
    this.#messages = new MessageTable(memory)
    this.#ring_bytes = memory.sizes.ring_bytes
    this.#cut = new Cut(this.#readers)
    this.#sleeper = new Sleeper(memory, SLOT.store)
    this.#answer = options.answer
    this.#readPort = options.readPort
    this.#now_ms = options.now_ms
  }

  /** A message has come to the port. */
  poke(): void {
    this.#poked = true
    this.#wakeUp?.()
    this.#sleeper.cancel()
  }

  control(waiting: Waiting): void {
    this.#waiting.push(waiting)
    this.poke()
  }

  close(): void {
    this.#closing = true
    this.poke()
  }

  /** Runs until `close`; then it commits what is marked and closes the file. */
  async run(): Promise<void> {
    while (!this.#closing) {
      this.#poked = false
      this.#readPort()
      // Requests that come during the drain wait for the next one, since records marked before them may be in a ring that was read already.
      const waiting = this.#waiting.splice(0)
      const drained = this.#drain()
      if (!this.#keep(waiting) && (waiting.length > 0 || this.#left_ms() <= 0)) this.#commit(waiting)
      // Each step is a transaction of its own.
      const more = !this.#store.transaction.isOpen && this.#store.upkeep.step()
      this.#probe()
      if (more || drained > this.#ring_bytes / 8) await new Promise(setImmediate)
      else await this.#sleep()
    }
    this.#readPort()
    this.#drain()
    this.#commit(this.#waiting.splice(0))
    this.#store.close()
  }

  /** Reads a whole cut, which is never committed in parts. Returns its bytes. */
  #drain(): number {
    const { intake } = this.#store
    if (!intake.isReady) return 0
    const bytes = this.#cut.drain(intake)
    if (bytes > 0) intake.waiting.settle()
    this.#cut.relieve()
    if (this.#isMuch()) this.#commit([])
    return bytes
  }

  #isMuch(): boolean {
    const { intake } = this.#store
    return intake.points.count >= this.#bounds.pending_points || intake.bytes() >= this.#bounds.pending_bytes
  }

  #hasWork(): boolean {
    return this.#hasHistory() || this.#store.transaction.isOpen
  }

  #hasHistory(): boolean {
    const { commit, intake, registry } = this.#store
    return !intake.isEmpty() || registry.hasFresh() || commit.events.length > 0 || commit.samples.length > 0
  }

  /**
   * Time until the next commit begins. It should have ended `group_commit_ms` after the last one began, which bounds how long values wait;
   * and the same time after its transaction was opened.
   */
  #left_ms(): number {
    const { isOpen, opened_ms } = this.#store.transaction
    const since = isOpen && !this.#hasHistory() ? opened_ms : this.#began_ms
    return since + Math.max(0, this.#bounds.group_commit_ms - this.#took_ms) - this.#now_ms()
  }

  /** Writes run writes to the redo log. False when there are none, or they need a commit. */
  #keep(waiting: readonly Waiting[]): boolean {
    if (waiting.length === 0 || (this.#hasWork() && this.#left_ms() <= 0)) return false
    const answers = this.#store.commit.keep(waiting)
    if (answers === null) return false
    this.#answer(answers)
    return true
  }

  #commit(waiting: readonly Waiting[]): void {
    if (waiting.length === 0 && !this.#hasWork()) return
    this.#began_ms = this.#now_ms()
    const answers = this.#store.commit.run(this.#store.intake, waiting)
    if (answers.length > 0) this.#answer(answers)
    this.#took_ms = this.#now_ms() - this.#began_ms
  }

  #probe(): void {
    const { commit, history } = this.#store
    if (!commit.isDown || this.#now_ms() < this.#probed_ms + PROBE_MS) return
    this.#probed_ms = this.#now_ms()
    commit.probe()
    if (commit.isDown) return
    if (commit.upkeep(() => history.restate(index => this.#read(index)))) history.restated()
  }

  #read(index: number): LastValue | null {
    const value: ReadValue = { version: 0, ts: 0, kind: KIND.none, number: 0, bytes: Buffer.alloc(0), length: 0 }
    if (!this.#messages.read(index, value)) return null
    const { version, ts, kind, number, bytes, length } = value
    const payload = hasPayload(kind) ? Buffer.from(bytes.subarray(0, length)) : null
    return { version, ts: Math.floor(ts), kind, number: payload ? 0 : number, bytes: payload }
  }

  async #sleep(): Promise<void> {
    if (this.#hasWork()) {
      await this.#pause(Math.min(LOOK_MS, Math.max(0, this.#left_ms())))
      return
    }
    const ticket = this.#sleeper.announce()
    if (this.#poked || this.#closing || this.#readers.some(reader => reader.waiting() > 0)) {
      this.#sleeper.cancel()
      return
    }
    await this.#sleeper.sleepAsync(ticket, this.#store.commit.isDown ? PROBE_MS : IDLE_MS)
  }

  /** Waits without reading the rings; a message at the port ends the wait. */
  #pause(ms: number): Promise<void> {
    if (this.#poked) return Promise.resolve()
    return new Promise<void>(resolve => {
      const timer = setTimeout(resolve, ms)
      this.#wakeUp = () => {
        clearTimeout(timer)
        resolve()
      }
    }).then(() => {
      this.#wakeUp = null
    })
  }
}
