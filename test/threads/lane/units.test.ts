import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { FlowRun } from '../../../core/cascade/flow-run.ts'
import { Cascade } from '../../../core/cascade/wave.ts'
import { CASCADE_STATUS, JOURNAL } from '../../../core/memory/journal/journal.ts'
import { JournalReader } from '../../../core/memory/journal/reader.ts'
import { SLOT } from '../../../core/memory/threads.ts'
import { limits } from '../../../protocol/limits.ts'
import { createCodec } from '../../../protocol/values/codec.ts'
import { LaneMemory } from '../../../threads/lane/memory.ts'
import { LaneNotes } from '../../../threads/lane/notes.ts'
import { LaneStates } from '../../../threads/lane/states.ts'
import { LaneUnits } from '../../../threads/lane/units.ts'
import { smallMemory } from '../../kit/memory.ts'

/** A flow that stands where the test says: what `LaneUnits` asks of it. */
class StandingFlow {
  readonly index = 0
  readonly seats: never[] = []
  readonly away = 0
  readonly openCascades = new Set<Cascade>()
  hasTaken = true
  /** Cascades that are half way. */
  inside: Cascade[] = []

  get isHalfway(): boolean {
    return this.inside.some(cascade => !cascade.recorded || cascade.fresh)
  }

  halfway(): Cascade[] {
    return this.inside
  }

  begins(executions: number): Cascade {
    const cascade = Object.assign(new Cascade(), { seq: 7, message: 3, root_version: 5, item: 0, items: 1, executions })
    this.inside.push(cascade)
    return cascade
  }
}

function lane() {
  const memory = smallMemory()
  const lane_memory = new LaneMemory(memory.sab, SLOT.lane, () => {})
  const { arena, journal } = lane_memory
  const codec = createCodec()
  const time = { ms: 0 }
  const units = new LaneUnits({
    memory: lane_memory,
    states: new LaneStates({ memory, arena, codec, journal }),
    notes: new LaneNotes(journal, codec, null),
    lane: { clock: () => time.ms, now_us: () => time.ms * 1000 },
  })
  const reader = new JournalReader(memory, SLOT.lane, 'store')
  /** What is marked since the last look: kinds of records, cascades with their status. */
  const marked = (): string[] => {
    const told: string[] = []
    reader.drain(
      {
        visit({ kind, seq, status }) {
          const [name] = Object.entries(JOURNAL).find(([, number]) => number === kind)!
          const [said] = Object.entries(CASCADE_STATUS).find(([, number]) => number === status) ?? ['']
          told.push(kind === JOURNAL.cascade ? `cascade ${seq} ${said}` : name)
        },
      },
      2 ** 20,
    )
    return told
  }
  const flow = new StandingFlow()
  /** So many bytes of records, and the store takes them out of the way as they come. */
  const write = (bytes: number): void => {
    while (journal.unmarked() < bytes) {
      if (!journal.hasRoom(64)) reader.stage()
      journal.taken(9, 1)
    }
  }
  return { units, time, marked, write, flow, run: flow as unknown as FlowRun, journal }
}

describe('a unit of a lane', () => {
  test('ends with its turn, and says what is consumed', () => {
    const { units, marked, run } = lane()
    units.endTurn(run)
    assert.deepEqual(marked(), ['taken'])
    units.endTurn(run)
    assert.deepEqual(marked(), [], 'a turn that took nothing has nothing to say')
  })

  test('goes on while its flow is half way, and no other mark falls into it', () => {
    const { units, time, marked, flow, run, journal } = lane()
    flow.begins(1)
    journal.taken(9, 1)
    units.endTurn(run)
    units.mark()
    time.ms += limits.UNIT_MS
    units.endTurn(run)
    assert.deepEqual([marked(), units.halfway], [[], run])
    flow.inside = []
    units.endTurn(run)
    assert.deepEqual([marked(), units.halfway], [['taken', 'taken'], null])
  })

  test('that is too long is marked, and its cascade counts as open from there', () => {
    const { units, time, marked, flow, run } = lane()
    const cascade = flow.begins(2)
    units.endTurn(run)
    time.ms += limits.UNIT_MS + 1
    units.endTurn(run)
    assert.deepEqual(marked(), ['cascade 7 running', 'taken'])
    assert.deepEqual([cascade.recorded, units.halfway], [true, null])
    flow.hasTaken = true
    units.endTurn(run)
    assert.deepEqual(marked(), ['taken'], 'once recorded as open it holds up no mark')
  })

  test('that is too large is marked with its turn, whatever room its ring has', () => {
    const { units, marked, write, flow, run, journal } = lane()
    flow.begins(2)
    write(limits.UNIT_BYTES - 64)
    units.endTurn(run)
    assert.equal(units.halfway, run)
    write(limits.UNIT_BYTES)
    units.endTurn(run)
    assert.deepEqual([journal.unmarked(), units.halfway], [0, null])
    assert.deepEqual(marked().slice(-2), ['cascade 7 running', 'taken'])
  })

  test('that is too long before a body of it has run leaves the items to the next start, until one runs', () => {
    const { units, marked, flow, run } = lane()
    const cascade = flow.begins(0)
    units.forceMark(run)
    assert.deepEqual(marked(), ['cascade 7 running', 'fresh', 'taken'])
    cascade.executions = 1
    assert.equal(flow.isHalfway, true, 'it is half way again')
    units.forceMark(run)
    assert.deepEqual(marked(), ['cascade 7 running'])
    assert.equal(cascade.fresh, false)
  })

  test('of another flow is closed with it when a mark is forced', () => {
    const { units, marked, flow, run } = lane()
    const other = Object.assign(new StandingFlow(), { index: 1 })
    flow.begins(1)
    units.endTurn(run)
    units.forceMark(other as unknown as FlowRun)
    assert.deepEqual([marked(), units.halfway], [['taken', 'cascade 7 running', 'taken'], null])
  })
})
