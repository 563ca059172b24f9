import { type Begun, BegunCascades } from '../../../core/memory/begun.ts'
import { CASCADE_STATUS, JournalWriter } from '../../../core/memory/journal/journal.ts'
import type { Memory } from '../../../core/memory/region.ts'
import { THREAD_KIND, THREAD_ROW, ThreadTable } from '../../../core/memory/threads.ts'
import { scenario } from '../../kit/scenario.ts'

export const SLOT = 8
export const FLOW = 3
export const BEGUN = 9
const none = { store() {}, front() {} }

/** i32 words that the lane writes together with what they count: bodies run by each cascade, by its number. */
export const bodiesOf = (memory: Memory, seq: number): number => (memory.regions.flows.offset >> 2) + seq

/** A lane as far as cascades go: they run bodies, go in flight and end; each is told where its death leaves it. */
export class Lane {
  readonly begun: BegunCascades
  readonly #journal: JournalWriter
  readonly #memory: Memory
  readonly #row: number
  #seq: number

  constructor(memory: Memory, ring = new JournalWriter(memory, SLOT, none)) {
    this.#memory = memory
    this.#journal = ring
    this.begun = new BegunCascades(memory, SLOT)
    this.#row = new ThreadTable(memory).row(SLOT)
    this.#seq = this.begun.last
  }

  begin(parent: Begun | null = null): Begun {
    const seq = ++this.#seq
    const cascade = {
      ...{ seq, started_us: 1000 + seq, message: 10 + seq, root_version: 100 + seq, row: 0, executions: 0, errors: 0 },
      ...{ parent_seq: parent?.seq ?? 0, parent_ts: parent?.started_us ?? 0 },
    }
    this.begun.begin(cascade, FLOW)
    return cascade
  }

  /** Bodies of the cascade, one after the other. */
  run(cascade: { -readonly [field in keyof Begun]: Begun[field] }, bodies: number): void {
    const { i32, f64 } = this.#memory
    for (let body = 0; body < bodies; body++) {
      cascade.executions++
      i32[bodiesOf(this.#memory, cascade.seq)]!++
      i32[(this.#row >> 2) + THREAD_ROW.word.current_node] = 1
      // What a body publishes.
      this.#journal.taken(FLOW, 1)
      i32[(this.#row >> 2) + THREAD_ROW.word.current_node] = 0
      f64[(this.#row >> 3) + THREAD_ROW.word.executions]!++
    }
  }

  stands(cascade: Begun): void {
    this.begun.outlives(cascade, FLOW)
  }

  /** It runs for so long that it has an open record. */
  recordOpen(cascade: Begun): void {
    this.#record(cascade, CASCADE_STATUS.running)
  }

  end(cascade: Begun): void {
    this.#record(cascade, CASCADE_STATUS.succeeded)
    this.begun.end(cascade)
  }

  endTurn(): void {
    this.#journal.mark()
  }

  #record(cascade: Begun, status: number): void {
    const { message, root_version, seq, started_us, executions, errors, parent_seq, parent_ts } = cascade
    const rest = [executions, errors, parent_seq, parent_ts] as const
    this.#journal.cascade(FLOW, message, root_version, seq, started_us, 0, status, ...rest)
  }
}

/** A lane begins nine cascades, some of which stand still or outlive a turn, and is ended on the way. */
export default scenario({
  prepare(memory) {
    new ThreadTable(memory).enter(SLOT, THREAD_KIND.lane)
  },
  threads: [
    memory => {
      const lane = new Lane(memory)
      return () => {
        const short = lane.begin()
        lane.run(short, 2)
        lane.end(short)
        const away = lane.begin()
        lane.run(away, 1)
        lane.stands(away)
        const child = lane.begin(away)
        lane.run(child, 1)
        lane.end(child)
        lane.endTurn()
        const cut = lane.begin()
        lane.run(cut, 2)
        lane.stands(cut)
        lane.endTurn()
        const beside = lane.begin(cut)
        lane.run(beside, 1)
        lane.end(beside)
        lane.recordOpen(away)
        lane.endTurn()
        lane.run(cut, 1)
        lane.end(cut)
        const late = lane.begin()
        lane.stands(late)
        const third = lane.begin()
        lane.stands(third)
        lane.endTurn()
        lane.run(away, 1)
        lane.stands(away)
        lane.end(third)
        const again = lane.begin()
        lane.stands(again)
        lane.end(away)
        lane.endTurn()
        const last = lane.begin()
        lane.run(last, 3)
        lane.end(last)
        lane.end(late)
        lane.endTurn()
      }
    },
    () => () => {},
  ],
  check() {},
})
