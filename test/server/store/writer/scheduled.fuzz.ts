import assert from 'node:assert/strict'
import { test } from 'node:test'
import Database from 'better-sqlite3'
import { auditMemory } from '../../../../core/cascade/audit.ts'
import { endRelease } from '../../../../core/cascade/schedule/release.ts'
import type { Schedule } from '../../../../core/cascade/schedule/schedule.ts'
import type { Timing } from '../../../../core/flow/timing.ts'
import { JOURNAL, JournalReader } from '../../../../core/memory/journal/journal.ts'
import { SLOT } from '../../../../core/memory/threads.ts'
import { limits } from '../../../../protocol/limits.ts'
import type { Connection } from '../../../../server/store/file/database.ts'
import { scheduled as migration } from '../../../../server/store/migrations/0015-scheduled.ts'
import { ScheduledChanges, ScheduledStatements } from '../../../../server/store/writer/scheduled.ts'
import { release, schedulingLane } from '../../../core/cascade/kit/scheduling.ts'
import { emptyItem, float, route, Station, text, told } from '../../../core/cascade/kit/station.ts'
import { smallMemory } from '../../../kit/memory.ts'
import { randomFrom, seed } from '../../../kit/random.ts'

const ROUNDS = process.env['LONG'] === undefined ? 12 : 1_000
const STEPS = 1_500
const FLOW = 5
const LANES = [8, 9]

interface Waiting {
  due_ms: number
  value: string
}

/** A node of one message, and what a model of it holds. */
interface Node {
  readonly message: number
  /** A save changes it. */
  timing: Timing
  waiting: Waiting[]
  readonly published: string[]
}

test('against a model on a clock of the test: values come in order, none early, none twice, and the store has what waits', () => {
  console.log(`SEED=${seed}`)
  for (let round = 0; round < ROUNDS; round++) play(seed + round)
})

function play(round_seed: number): void {
  const random = randomFrom(round_seed)
  const upTo = (most: number): number => Math.floor(random() * most)
  const memory = smallMemory({ flows: 8, messages: 16, ring_bytes: 1 << 19, arena_bytes: 1 << 23, queue_segments: 512 })
  const front = new Station(memory, SLOT.front)
  const timer = new Station(memory, SLOT.timer)
  const lanes = LANES.map(slot => new Station(memory, slot))
  const schedules = lanes.map(lane => schedulingLane(lane, reason => assert.fail(reason)))
  const nodes = ['delay', 'debounce', 'hold'].map((kind, at): Node => {
    front.messages.reset(at, FLOW)
    const timing: Timing = { kind: kind as Timing['kind'], wait_s: 1, passthrough: random() < 0.5, wait_port: 'wait' }
    return { message: at, timing, waiting: [], published: [] }
  })
  // The store: rows, as a restart would find them.
  const db = new Database(':memory:')
  db.exec(migration.sql)
  const statements = new ScheduledStatements(db as unknown as Connection)
  const changes = new ScheduledChanges()
  const readers = [SLOT.timer, ...LANES].map(slot => new JournalReader(memory, slot, 'store'))

  let now_ms = 1_000
  let lane = 0
  let number = 0
  for (let step = 0; step < STEPS; step++) {
    const action = random()
    const node = nodes[upTo(nodes.length)]!
    if (action < 0.6) {
      // A flow goes from lane to lane when the unit of the first one is marked.
      if (random() < 0.1) {
        lanes[lane]!.endUnit()
        lane = 1 - lane
      }
      const wait_s = random() < 0.15 ? 0 : random() ** 3 * 20
      const value = random() < 0.7 ? float(++number) : text(++number, upTo(limits.JOURNAL_INLINE_BYTES * 2))
      put(schedules[lane]!, node, value, wait_s, now_ms)
    } else if (action < 0.8) now_ms += Math.floor(random() ** 4 * 15_000)
    else if (action < 0.95) {
      for (const one of lanes) one.endUnit()
      for (const one of nodes) publishDue(one)
    } else commit()
  }
  for (const one of lanes) one.endUnit()
  now_ms += 1e9
  for (const node of nodes) publishDue(node)
  commit(true)
  assert.equal((db.prepare('SELECT count(*) AS n FROM scheduled').get() as { n: number }).n, 0)
  assert.equal(front.flows.scheduled(FLOW), 0)
  assert.deepEqual(auditMemory(memory).problems, [])
  db.close()

  function put(schedule: Schedule, node: Node, value: ReturnType<typeof float>, wait_s: number, at_ms: number): void {
    const { kind, passthrough } = node.timing
    const due_ms = at_ms + wait_s * 1000
    const { waiting } = node
    const runs = waiting.length > 0
    let passes = false
    if (kind === 'delay') waiting.push({ due_ms: Math.max(due_ms, waiting.at(-1)?.due_ms ?? 0), value: told(value) })
    else if (wait_s === 0) {
      node.waiting = []
      passes = passthrough
    } else {
      node.waiting = [{ due_ms: runs && kind === 'hold' ? waiting[0]!.due_ms : due_ms, value: told(value) }]
      passes = passthrough && !runs
    }
    const passed = schedule.passes(FLOW, node.message, node.timing, { wait: wait_s }, value, at_ms * 1000)
    assert.equal(passed, passes, `step of ${kind}`)
  }

  function publishDue(node: Node): void {
    while (release(timer, route(node.message, FLOW), now_ms) === 'published');
    endRelease(timer)
    const item = emptyItem()
    const came: string[] = []
    assert.ok(front.flows.claim(FLOW, front.owner))
    while (front.queue.take(FLOW, item)) came.push(told(item.value))
    front.flows.release(FLOW, front.owner)
    const due = node.waiting.filter(({ due_ms }) => due_ms <= now_ms)
    node.waiting = node.waiting.slice(due.length)
    assert.deepEqual(
      came,
      due.map(({ value }) => value),
      `${node.timing.kind} at ${now_ms}, SEED=${round_seed}`,
    )
  }

  function commit(is_last = false): void {
    for (const one of lanes) one.endUnit()
    // The timer's ring is read before or after those of the lanes.
    if (random() < 0.5) readers.reverse()
    for (const reader of readers)
      while (
        reader.drain(
          {
            visit: record => {
              if (record.kind === JOURNAL.scheduled) changes.scheduled(record)
              else if (record.kind === JOURNAL.released) changes.released(record)
            },
          },
          1 << 22,
        ) > 0
      );
    // A commit that fails is made up for by a later one.
    if (!is_last && random() < 0.2) return
    changes.write(statements, message => message + 100)
    changes.written()
    for (const { message, waiting, timing } of nodes) {
      const rows = db
        .prepare('SELECT due_ms, kind, number, bytes FROM scheduled WHERE message = ? ORDER BY entry')
        .all(message + 100) as { due_ms: number; kind: number; number: number; bytes: Buffer | null }[]
      const stored = rows.map(({ due_ms, number, bytes }) => ({
        due_ms,
        value: bytes === null ? String(number) : bytes.toString('base64'),
      }))
      assert.deepEqual(stored, waiting, `${timing.kind}, SEED=${round_seed}`)
    }
  }
}
