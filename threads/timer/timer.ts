import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { FlowTable } from '../../core/cascade/flows.ts'
import { Publisher } from '../../core/cascade/publish/publish.ts'
import { REFUSED } from '../../core/cascade/publish/refused.ts'
import type { Route } from '../../core/cascade/publish/route.ts'
import { IngressQueue } from '../../core/cascade/queue/queue.ts'
import { ReadySet } from '../../core/cascade/queue/ready.ts'
import { type HeldHands, releaseHeld, takeHeld } from '../../core/cascade/release-held.ts'
import {
  dropScheduled,
  endRelease,
  releaseScheduled,
  type ScheduledRelease,
  type ScheduleHands,
} from '../../core/cascade/schedule/release.ts'
import { Arena } from '../../core/memory/arena.ts'
import { Clock } from '../../core/memory/clock.ts'
import { NodeCounters } from '../../core/memory/counters.ts'
import { HeldTable } from '../../core/memory/held.ts'
import { JOURNAL, JournalWriter } from '../../core/memory/journal/journal.ts'
import { MessageTable } from '../../core/memory/messages.ts'
import { attachMemory } from '../../core/memory/region.ts'
import { ScheduledTable } from '../../core/memory/scheduled.ts'
import { SLOT, THREAD_KIND, ThreadTable } from '../../core/memory/threads.ts'
import { limits } from '../../protocol/limits.ts'
import { formatTime } from '../../protocol/time.ts'
import { createCodec, newEncoded } from '../../protocol/values/codec.ts'
import type { EncodedValue } from '../../protocol/values/encoded.ts'
import { journalWakes } from '../journal-wakes.ts'
import type { HeldNotice } from '../lane/messages.ts'
import { LaneNotes } from '../lane/notes.ts'
import { nextCron, repeatOf } from '../nodes/cron.ts'
import { threadClock } from '../thread-clock.ts'
import { planAfterJump } from './cron-jump.ts'
import { DueHeap } from './due-heap.ts'
import { FireLedger, type Missed, missedOfCron, missedOfInterval } from './fires.ts'
import {
  type FromTimer,
  type InjectPlan,
  type RatedPlan,
  type SeenFires,
  scheduleOf,
  type TimersOfFlow,
  type TimerTask,
  type ToTimer,
} from './messages.ts'

/** A value that is due and cannot be published is retried: the lane that held it is in the middle of a cascade, or the journal is full. */
const OPEN_AGAIN_MS = 5
/** Node's timers take at most 2^31 ms; what is due later is looked at again by then. */
const LONGEST_SLEEP_MS = 3_600_000
/** A note of so many fits a record of the journal. */
const RUNS_IN_NOTE = 50

/** What is due: the end of an inject's interval, its next time by cron, or the held value of `message`, or its first scheduled one. */
interface Due {
  /** Of the steady clock. */
  due_ms: number
  /** Of cron: the time of day, in milliseconds since 1970. */
  readonly at_ms: number
  /** Of cron: occurrences up to here are on record, the planned one aside. */
  readonly counted_ms: number
  readonly kind: 'every' | 'cron' | 'held' | 'scheduled'
  readonly flow: number
  readonly inject: InjectPlan | null
  readonly message: number
  readonly generation: number
}

/** Members of what is due that most have not. */
const LATER = { at_ms: 0, counted_ms: 0, flow: -1, inject: null, message: -1, generation: 0 } as const

interface TimedFlow {
  readonly name: string
  readonly enabled: boolean
  readonly generation: number
  readonly rated: ReadonlyMap<number, RatedPlan>
  /** Messages of `delay` and `trigger` nodes; while the flow is disabled, those that it had before. */
  readonly timed: ReadonlySet<number>
  /** By node index: the interval and when it ends next. An interval outlives the saves that leave it as it is. */
  readonly injects: readonly InjectPlan[]
  readonly intervals: Map<number, { readonly every_s: number; due_ms: number }>
}

/** The timer thread: injects, ends of rate-limited intervals, and the watch over backlogs. Everything that fires is a publish like any other. */
class Timer {
  readonly #codec = createCodec()
  readonly #encoded: EncodedValue = newEncoded()
  readonly #clock: Clock
  readonly #owner: number
  readonly #arena: Arena
  readonly #threads: ThreadTable
  readonly #flows: FlowTable
  readonly #held: HeldTable
  readonly #scheduled: ScheduledTable
  readonly #counters: NodeCounters
  readonly #journal: JournalWriter
  readonly #publisher: Publisher
  readonly #messages: MessageTable
  readonly #hands: HeldHands & ScheduleHands
  readonly #notes: LaneNotes
  readonly #time_zone: string
  readonly #degraded_after_ms: number
  readonly #heap = new DueHeap<Due>()
  readonly #fires = new FireLedger()
  /** When the ledger was written last, by the steady clock. */
  #written_ms = 0
  readonly #timed = new Map<number, TimedFlow>()
  readonly #rated = new Map<number, { flow: number; plan: RatedPlan }>()
  /** By message of a `delay` or `trigger` node. */
  readonly #routes = new Map<number, Route>()
  /** Of injects of disabled flows: since when their occurrences are missed. */
  readonly #paused = new Map<string, SeenFires>()
  readonly #lanes = new Set<MessagePort>()
  /** Since when each flow stands above the share that degrades the engine, and the name under which that was told. */
  readonly #pressed = new Map<number, { readonly since_ms: number; told: string | null }>()
  #generation = 0
  #next: NodeJS.Timeout | null = null
  #next_ms = Number.POSITIVE_INFINITY

  constructor(task: TimerTask) {
    const memory = attachMemory(task.sab)
    this.#clock = new Clock(memory, threadClock)
    this.#time_zone = task.time_zone
    this.#degraded_after_ms = task.degraded_after_ms
    this.#threads = new ThreadTable(memory)
    this.#owner = this.#threads.enter(SLOT.timer, THREAD_KIND.timer)
    const owner = this.#owner
    const arena = new Arena(memory, owner)
    this.#arena = arena
    const flows = new FlowTable(memory)
    const journal = new JournalWriter(memory, SLOT.timer, journalWakes(memory))
    this.#flows = flows
    this.#journal = journal
    this.#held = new HeldTable(memory, arena)
    this.#scheduled = new ScheduledTable(memory, arena)
    this.#counters = new NodeCounters(memory)
    this.#notes = new LaneNotes(journal, this.#codec, null)
    this.#messages = new MessageTable(memory)
    this.#publisher = new Publisher({
      memory,
      owner,
      arena,
      journal,
      flows,
      queue: new IngressQueue({ memory, owner, arena, flows }),
      ready: new ReadySet(memory, flows),
      messages: this.#messages,
    })
    this.#hands = {
      clock: this.#clock,
      flows,
      held: this.#held,
      scheduled: this.#scheduled,
      journal,
      publisher: this.#publisher,
      owner,
    }
  }

  run(): void {
    parentPort!.on('message', (message: ToTimer) => this.#receive(message))
    const watch = setInterval(() => this.#watch(), limits.BACKLOG_WATCH_MS)
    watch.unref()
    this.#post({ type: 'entered', owner: this.#owner })
  }

  #receive(message: ToTimer): void {
    switch (message.type) {
      case 'flow':
        this.#take(message)
        break
      case 'drop':
        for (const { qualified } of this.#timed.get(message.flow)?.injects ?? []) {
          this.#fires.forget(qualified)
          this.#paused.delete(qualified)
        }
        this.#drop(message.flow)
        this.#relieve(message.flow)
        break
      case 'lane':
        this.#lanes.add(message.port)
        message.port.on('message', (notice: HeldNotice) => this.#noticed(notice))
        message.port.on('close', () => this.#lanes.delete(message.port))
        break
      case 'held':
        this.#holdUntil(message.message, message.due_ms)
        break
      case 'scheduled':
        this.#lookAt(message.message, message.due_ms)
        break
      case 'clock':
        this.#clockChanged(message.from_ms, message.to_ms)
        break
      case 'ping':
        this.#post({ type: 'pong' })
        break
      case 'stop':
        this.#stop()
        break
      default:
        message satisfies never
    }
  }

  #take({ flow, name, enabled, injects, rated, timed, fire, missed }: TimersOfFlow): void {
    const { intervals: before, timed: timed_before, injects: running } = this.#timed.get(flow) ?? {}
    this.#drop(flow)
    const generation = ++this.#generation
    const plans = new Map(rated.map(plan => [plan.route.message, plan]))
    const intervals: TimedFlow['intervals'] = new Map()
    const messages = enabled || timed_before === undefined ? new Set(timed.map(route => route.message)) : timed_before
    this.#timed.set(flow, { name, enabled, generation, rated: plans, timed: messages, injects, intervals })
    this.#takeTimed(timed, enabled ? timed_before : undefined)
    for (const plan of rated) {
      const { message } = plan.route
      this.#rated.set(message, { flow, plan })
      // Held while the flow was disabled, or told to a timer thread that is gone, or without a limit any more.
      const due_ms = this.#held.due(message)
      if (due_ms !== 0) this.#holdUntil(message, plan.rate_hz === null ? 0 : due_ms)
    }
    const now_ms = this.#steadyMs()
    this.#begin(injects, running ?? [], name, missed)
    // Disabled: what is missed from here on counts when it is enabled.
    if (!enabled) for (const inject of running ?? []) this.#pause(inject)
    for (const inject of injects) {
      const { node, once, every_s, cron } = inject
      if (once && fire) this.#inject(inject, name, this.#clock.now_us())
      if (every_s !== null) {
        const interval = before?.get(node)
        const due_ms = interval?.every_s === every_s ? interval.due_ms : now_ms + every_s * 1000
        intervals.set(node, { every_s, due_ms })
        this.#heap.push({ ...LATER, due_ms, kind: 'every', flow, inject, generation })
      }
      if (cron !== null) this.#pushCron(flow, inject, cron, generation)
    }
    this.#endFires()
    this.#arm()
  }

  /** By the machine's clock. */
  #pushCron(flow: number, inject: InjectPlan, cron: string, generation: number): void {
    const at_ms = nextCron(cron, this.#time_zone, this.#clock.now_us() / 1000)
    if (at_ms === null) return
    const due_ms = this.#steadyAt(at_ms)
    this.#heap.push({ ...LATER, due_ms, at_ms, kind: 'cron', flow, inject, generation })
  }

  #steadyMs(): number {
    return this.#clock.steady_us() / 1000
  }

  #steadyAt(at_ms: number): number {
    return this.#steadyMs() + at_ms - this.#clock.now_us() / 1000
  }

  /** The machine's clock was set: cron is planned again. Intervals and held values are not affected. */
  #clockChanged(from_ms: number, to_ms: number): void {
    for (const due of this.#heap.drain()) {
      const cron = due.kind === 'cron' ? due.inject!.cron : null
      if (cron === null) {
        this.#heap.push(due)
        continue
      }
      const next = (after_ms: number): number | null => nextCron(cron, this.#time_zone, after_ms)
      const at_ms = planAfterJump(cron, { from_ms, to_ms, planned_ms: due.at_ms }, next)
      const isLive = this.#timed.get(due.flow)?.generation === due.generation
      if (isLive && to_ms > due.at_ms) this.#jumpedOver(due, due.inject!.qualified, next, to_ms, at_ms)
      if (at_ms !== null)
        this.#heap.push({ ...due, at_ms, counted_ms: Math.max(due.counted_ms, to_ms), due_ms: this.#steadyAt(at_ms) })
    }
    this.#arm()
  }

  /** The planned occurrence and those behind it, up to the new time; one of them may come now. */
  #jumpedOver(
    { at_ms: planned_ms }: Due,
    node: string,
    next: (after_ms: number) => number | null,
    to_ms: number,
    comes_ms: number | null,
  ): void {
    const missed = missedOfCron(next, (planned_ms - 1) * 1000, to_ms * 1000)
    const comes = comes_ms !== null && comes_ms <= to_ms ? 1 : 0
    this.#fires.skipped(node, 'clock_jumped', { ...missed, count: missed.count - comes })
  }

  #drop(flow: number): void {
    const timed = this.#timed.get(flow)
    if (timed === undefined) return
    // Entries of the heap outlive their flow and are passed over by their generation.
    for (const message of timed.rated.keys()) this.#rated.delete(message)
    for (const message of timed.timed) this.#routes.delete(message)
    this.#timed.delete(flow)
  }

  #noticed({ message, due_ms, scheduled }: HeldNotice): void {
    if (scheduled) this.#lookAt(message, due_ms)
    else this.#holdUntil(message, due_ms)
  }

  /** What was scheduled while the flow was disabled is due now; that of nodes that are gone is dropped. */
  #takeTimed(timed: readonly Route[], before: ReadonlySet<number> = new Set()): void {
    for (const route of timed) {
      this.#routes.set(route.message, route)
      const due_ms = this.#scheduled.due(route.message)
      if (due_ms !== 0) this.#lookAt(route.message, due_ms)
    }
    for (const message of before) if (!this.#routes.has(message)) this.#dropTimed(message)
  }

  /** At the first scheduled value of the message, when it is due. */
  #lookAt(message: number, due_ms: number): void {
    this.#heap.push({ ...LATER, due_ms, kind: 'scheduled', message })
    this.#arm()
  }

  #holdUntil(message: number, due_ms: number): void {
    this.#heap.push({ ...LATER, due_ms, kind: 'held', message })
    this.#arm()
  }

  #arm(): void {
    const due_ms = this.#heap.peek()?.due_ms ?? Number.POSITIVE_INFINITY
    if (due_ms >= this.#next_ms) return
    if (this.#next !== null) clearTimeout(this.#next)
    this.#next_ms = due_ms
    this.#next = setTimeout(
      () => this.#fire(),
      Math.min(LONGEST_SLEEP_MS, Math.max(0, Math.ceil(due_ms - this.#steadyMs()))),
    )
  }

  #fire(): void {
    this.#next = null
    this.#next_ms = Number.POSITIVE_INFINITY
    const now_ms = this.#steadyMs()
    for (let due = this.#heap.peek(); due !== undefined && due.due_ms <= now_ms; due = this.#heap.peek()) {
      this.#heap.pop()
      if (due.kind === 'scheduled') this.#releaseTimed(due.message, now_ms)
      else if (due.inject === null) this.#release(due.message, now_ms)
      else this.#fireInject(due, due.inject, now_ms)
    }
    this.#endFires()
    this.#arm()
  }

  /** What the thread, or the machine, slept through is on record, and not made up for. */
  #fireInject(due: Due, inject: InjectPlan, now_ms: number): void {
    const timed = this.#timed.get(due.flow)
    if (timed === undefined || timed.generation !== due.generation) return
    if (due.kind === 'cron' && this.#clock.now_us() / 1000 < due.at_ms) {
      // The machine's clock was corrected by a little and is behind.
      this.#heap.push({ ...due, due_ms: Math.max(now_ms + 1, this.#steadyAt(due.at_ms)) })
      return
    }
    const now_us = this.#clock.now_us()
    const interval = timed.intervals.get(inject.node)
    if (due.kind === 'every' && interval !== undefined) {
      const scheduled_us = Math.round(now_us - (now_ms - due.due_ms) * 1000)
      this.#inject(inject, timed.name, scheduled_us)
      const { every_s } = interval
      interval.due_ms = nextEnd(due.due_ms, every_s * 1000, now_ms)
      const until_us = scheduled_us + (interval.due_ms - due.due_ms) * 1000 - every_s * 500_000
      this.#fires.skipped(inject.qualified, 'engine_busy', missedOfInterval(every_s, scheduled_us, until_us))
      this.#heap.push({ ...due, due_ms: interval.due_ms })
    } else if (inject.cron !== null) {
      this.#inject(inject, timed.name, due.at_ms * 1000)
      this.#passRepeat(inject, inject.cron, due.at_ms)
      const from_us = Math.max(due.at_ms, due.counted_ms) * 1000
      const slept = missedOfCron(this.#nextOf(inject.cron), from_us, now_us)
      this.#fires.skipped(inject.qualified, 'engine_busy', slept)
      this.#pushCron(due.flow, inject, inject.cron, due.generation)
    }
  }

  /** The time zone's clock goes back: the same time of day comes again, and is not taken again. */
  #passRepeat(inject: InjectPlan, cron: string, at_ms: number): void {
    const again_ms = repeatOf(cron, this.#time_zone, at_ms)
    if (again_ms === null) return
    const again = { first_us: again_ms * 1000, last_us: again_ms * 1000, count: 1, at_least: false }
    this.#fires.skipped(inject.qualified, 'time_repeated', again)
  }

  #nextOf(cron: string): (after_ms: number) => number | null {
    return after_ms => nextCron(cron, this.#time_zone, after_ms)
  }

  /** `at_us`: when it was to come. `catches_up`: it stands for occurrences that were missed. The caller ends the unit. */
  #inject(inject: InjectPlan, flow: string, at_us: number, catches_up = false): void {
    const refusal = this.#codec.encode(inject.value, inject.dtype, this.#encoded)
    const now_us = this.#clock.now_us()
    const version =
      refusal === null ? this.#publisher.publish(inject.route, this.#encoded, now_us, false) : REFUSED.backlogged
    if (version > 0) {
      this.#counters.ran(inject.node)
      if (catches_up) this.#fires.caughtUp(inject.qualified, at_us, now_us)
      else this.#fires.published(inject.qualified, at_us, now_us)
    } else {
      this.#counters.dropped(inject.node, 1)
      this.#notes.dropped(flow, 'inject_refused')
      this.#fires.skipped(inject.qualified, 'flow_full', { first_us: at_us, last_us: at_us, count: 1, at_least: false })
    }
  }

  /** Of those that have not been running: what was missed since their occurrences were on record last. */
  #begin(
    injects: readonly InjectPlan[],
    running: readonly InjectPlan[],
    flow: string,
    reason: TimersOfFlow['missed'],
  ): void {
    const now_us = this.#clock.now_us()
    const begun: [node: string, schedule: string][] = []
    const goes_on = new Set(running.map(inject => `${inject.qualified} ${scheduleOf(inject)}`))
    for (const inject of injects) {
      const schedule = scheduleOf(inject)
      const { qualified } = inject
      if (goes_on.has(`${qualified} ${schedule}`)) continue
      const seen = this.#paused.get(qualified) ?? inject.seen
      this.#paused.delete(qualified)
      if (seen?.schedule === schedule) this.#recordMissed(inject, flow, reason, seen.at_us, now_us)
      begun.push([qualified, schedule])
    }
    if (begun.length > 0) this.#notes.write({ type: 'fires_seen', nodes: begun, ts: now_us })
  }

  #pause(inject: InjectPlan): void {
    this.#paused.set(inject.qualified, { schedule: scheduleOf(inject), at_us: this.#clock.now_us() })
  }

  #recordMissed(
    inject: InjectPlan,
    flow: string,
    reason: TimersOfFlow['missed'],
    since_us: number,
    now_us: number,
  ): void {
    const { qualified, every_s, cron, catch_up } = inject
    const all: Missed[] = []
    if (every_s !== null) all.push(missedOfInterval(every_s, since_us, now_us))
    if (cron !== null) all.push(missedOfCron(this.#nextOf(cron), since_us, now_us))
    for (const missed of all) {
      const comes = catch_up === 'once' && missed.count > 0 ? 1 : 0
      this.#fires.skipped(qualified, reason, { ...missed, count: missed.count - comes })
      if (comes > 0) this.#inject(inject, flow, missed.last_us, true)
    }
  }

  /**
   * Ends the unit of what injects published. The ledger stands in the same unit, unless it was written a moment ago: then the next look
   * of the watch brings it.
   */
  #endFires(): void {
    if (this.#steadyMs() - this.#written_ms >= limits.BACKLOG_WATCH_MS) this.#writeFires()
    endRelease(this.#hands)
  }

  #writeFires(): void {
    const runs = this.#fires.take()
    if (runs.length === 0) return
    this.#written_ms = this.#steadyMs()
    const ts = this.#clock.now_us()
    for (let at = 0; at < runs.length; at += RUNS_IN_NOTE)
      this.#notes.write({ type: 'fires', runs: runs.slice(at, at + RUNS_IN_NOTE), ts })
  }

  /** The end of an interval: the newest held value is published and starts a cascade of its own. */
  #release(message: number, now_ms: number): void {
    const rated = this.#rated.get(message)
    if (rated === undefined) return this.#discard(message)
    const { flow, plan } = rated
    const limit_ms = plan.rate_hz === null ? Number.POSITIVE_INFINITY : now_ms
    const released = releaseHeld(this.#hands, plan.route, this.#encoded, limit_ms, true)
    if (released === 'published') return
    if (released === 'nothing') {
      const due_ms = this.#held.due(message)
      if (due_ms > now_ms) this.#holdUntil(message, due_ms)
      else if (due_ms !== 0) this.#holdUntil(message, now_ms + OPEN_AGAIN_MS)
      return
    }
    // Refused: it stays the newest unless a newer one is held meanwhile.
    this.#flows.lockPublish(flow, this.#owner)
    const again_ms = now_ms + limits.HELD_AGAIN_MS
    const free = this.#held.due(message) === 0 && this.#encoded.length <= limits.SLOT_INLINE_BYTES
    if (free) {
      this.#journal.held(message, again_ms, this.#clock.steady_us(), this.#encoded)
      this.#held.hold(message, again_ms, this.#encoded, 0)
    }
    this.#journal.mark()
    this.#flows.unlockPublish(flow, this.#owner)
    if (free) this.#holdUntil(message, again_ms)
    else this.#notes.dropped(this.#timed.get(flow)?.name ?? String(flow), 'held_refused')
  }

  /** The scheduled values that are due, in order. One entry of the heap stands for all of a message. */
  #releaseTimed(message: number, now_ms: number): void {
    const route = this.#routes.get(message)
    if (route === undefined) return this.#dropTimed(message)
    let released: ScheduledRelease = 'published'
    let count = 0
    while (released === 'published' && count++ < limits.RELEASED_TOGETHER)
      released = releaseScheduled(this.#hands, route, this.#encoded, now_ms)
    endRelease(this.#hands)
    const due_ms = this.#scheduled.due(message)
    if (due_ms === 0) return
    if (released === 'later') this.#lookAt(message, now_ms + OPEN_AGAIN_MS)
    else if (released === 'refused') this.#lookAt(message, now_ms + limits.HELD_AGAIN_MS)
    else this.#lookAt(message, due_ms)
  }

  /** Its node is gone, or was when a lane scheduled this. Of a disabled or deleted flow it stays. */
  #dropTimed(message: number): void {
    const flow = this.#messages.flow(message)
    const timed = this.#timed.get(flow)
    if (timed === undefined || !timed.enabled) return
    const count = dropScheduled(this.#hands, flow, message)
    if (count > 0) {
      this.#journal.mark()
      this.#notes.dropped(timed.name, 'port_removed', count)
    } else if (this.#scheduled.due(message) !== 0) this.#lookAt(message, this.#steadyMs() + OPEN_AGAIN_MS)
  }

  /** A lane held it for a port that a save has removed meanwhile. A disabled or deleted flow is left as it is. */
  #discard(message: number): void {
    const flow = this.#messages.flow(message)
    const timed = this.#timed.get(flow)
    if (timed === undefined || !timed.enabled) return
    if (!takeHeld(this.#hands, flow, message, this.#encoded, Number.POSITIVE_INFINITY)) return
    this.#journal.mark()
    this.#notes.dropped(timed.name, 'port_removed')
  }

  /** At 85 % of the bound of an enabled flow for 5 s the engine is degraded, and says which flow holds most of the waiting work. */
  #watch(): void {
    const now_ms = this.#steadyMs()
    this.#writeFires()
    this.#notes.flush(this.#clock.now_us())
    this.#journal.mark()
    this.#arena.collect()
    for (const [flow, timed] of this.#timed) {
      const share = this.#flows.share(flow)
      const pressed = this.#pressed.get(flow)
      if (share < limits.FLOW_PRESSURE_DEGRADED || !timed.enabled) {
        this.#relieve(flow)
      } else if (pressed === undefined) {
        this.#pressed.set(flow, { since_ms: now_ms, told: null })
      } else if (pressed.told === null && now_ms - pressed.since_ms >= this.#degraded_after_ms) {
        pressed.told = timed.name
        this.#event('engine_degraded', timed.name, flow)
      }
    }
  }

  /** The flow is no longer full, or gone. */
  #relieve(flow: number): void {
    const pressed = this.#pressed.get(flow)
    if (pressed === undefined) return
    this.#pressed.delete(flow)
    if (pressed.told !== null) this.#event('engine_recovered', pressed.told, flow)
  }

  #event(type: 'engine_degraded' | 'engine_recovered', name: string, flow: number): void {
    const ts = this.#clock.now_us()
    const waiting = this.#flows.waiting(flow)
    const share = Math.round(this.#flows.share(flow) * 1000) / 1000
    const event = { type, ts: formatTime(ts), flow: name, run: null, waiting, share }
    const bytes = this.#codec.encodePlain({ type: 'event', event })
    if (!this.#journal.hasRoom(bytes.length + 64)) return
    this.#journal.blob(JOURNAL.note, 0, ts, bytes, bytes.length)
    this.#journal.mark()
  }

  #stop(): void {
    if (this.#next !== null) clearTimeout(this.#next)
    for (const port of this.#lanes) port.close()
    this.#writeFires()
    this.#notes.flush(this.#clock.now_us())
    this.#journal.mark()
    this.#threads.leave(this.#owner)
    this.#post({ type: 'left' })
    parentPort!.close()
  }

  #post(message: FromTimer): void {
    parentPort!.postMessage(message)
  }
}

/** The first end of an interval after now, of those that follow `last_ms`. */
const nextEnd = (last_ms: number, every_ms: number, now_ms: number): number =>
  last_ms + every_ms * Math.max(1, Math.floor((now_ms - last_ms) / every_ms) + 1)

new Timer(workerData as TimerTask).run()
