import type { Worker } from 'node:worker_threads'
import type { Plan } from '../../core/flow/plan.ts'
import { PLACEMENT } from '../../core/memory/counters.ts'
import { THREAD_ROW } from '../../core/memory/threads.ts'
import { type ErrorCode, errorTable } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import type { LiveBounds } from '../calls/bounds.ts'
import { bodyOnThread, nodeOfBody } from './find-body.ts'
import type { FrontMemory } from './front-memory.ts'

/** Why the front ended a lane, and whose body was to blame; null when nobody knows. */
export interface LaneEnd {
  readonly code: ErrorCode
  readonly message: string
  readonly node: number | null
}

/** A lane as its watch sees it. */
export interface WatchedLane {
  readonly slot: number
  readonly owner: number
  /** Ends the thread; once is enough. */
  end(why: LaneEnd): void
}

export interface LaneWatchParts {
  readonly front: FrontMemory
  readonly bounds: LiveBounds
  plans(): Iterable<Plan>
  /** Indexes of flows that no lane is to run any more: deleted or disabled. Some lane may still own them. */
  orphans(): Iterable<number>
  workers(): readonly Worker[]
  /** The body of the node keeps its lane from everything else; it runs in a call slot from its next execution on. */
  onBlocked(node: number): void
  onDefect(error: unknown): void
}

interface Seen {
  owner: number
  /** Node index (+ 1) of the body that runs, 0: none. */
  node: number
  executions: number
  heartbeat_ms: number
  since_ms: number
  told: boolean
  /** Somebody looks where the lane hangs. */
  looked: boolean
  /** The node whose body a lane hangs in that says of none that it runs. */
  found: number | null
}

/** A lane asleep comes round its loop this much later at most; a look that comes later than that has slept itself. */
const SLEEP_MS = 1_000

/**
 * Looks at the lanes from outside, a few times a second. A body may block its lane within its call (the lane says which), or
 * hang where the lane has no say: behind an await, in a timer, in a generator. Then a profile of the thread says which.
 *
 *   moving -> blocked (after blocked_lane_ms: the node is dispatched from now on) -> ended (after node_silent_ms)
 */
export class LaneWatch {
  readonly #parts: LaneWatchParts
  readonly #seen = new Map<number, Seen>()
  /** By owner word: the node that a lane with much heap was last seen in. */
  readonly #eater = new Map<number, number>()
  /** Owner words of the lanes whose heap is being asked for. */
  readonly #weighed = new Set<number>()
  #looking: Promise<unknown> = Promise.resolve()
  #looked_ms = 0

  constructor(parts: LaneWatchParts) {
    this.#parts = parts
  }

  look(now_ms: number, lanes: Iterable<WatchedLane>): void {
    // The whole process was blocked, or the front was held up: nobody is blamed for that time.
    const late = now_ms - this.#looked_ms > SLEEP_MS
    this.#looked_ms = now_ms
    for (const lane of lanes) {
      const now = this.#now(lane, now_ms)
      const seen = this.#seen.get(lane.slot)
      if (late || seen === undefined || moved(seen, now)) this.#seen.set(lane.slot, now)
      else this.#stands(lane, seen, now_ms - seen.since_ms)
    }
  }

  #now({ slot, owner }: WatchedLane, now_ms: number): Seen {
    const { memory, threads } = this.#parts.front
    const row = threads.row(slot)
    return {
      owner,
      node: memory.i32[(row >> 2) + THREAD_ROW.word.current_node]!,
      executions: memory.f64[(row >> 3) + THREAD_ROW.word.executions]!,
      heartbeat_ms: memory.f64[(row >> 3) + THREAD_ROW.word.heartbeat_ms]!,
      since_ms: now_ms,
      told: false,
      looked: false,
      found: null,
    }
  }

  #stands(lane: WatchedLane, seen: Seen, ms: number): void {
    const allowed_ms = this.#parts.bounds.blocked_lane_ms + (seen.node === 0 ? SLEEP_MS : 0)
    if (ms >= allowed_ms && !seen.told) {
      seen.told = true
      if (seen.node > 0) this.#blocks(seen.node - 1)
      else this.#find(lane, seen).catch(this.#parts.onDefect)
    }
    if (ms >= allowed_ms && this.#isOrphaned(lane, seen)) {
      const node = seen.node > 0 ? seen.node - 1 : seen.found
      return lane.end({ code: 'interrupted', message: 'Its flow was deleted or disabled while it ran.', node })
    }
    const { node_silent_ms } = this.#parts.bounds
    if (ms < node_silent_ms || seen.looked) return
    const node = seen.node > 0 ? seen.node - 1 : seen.found
    const text = `It kept its lane for ${node_silent_ms / 1000} s.`
    lane.end({ code: 'node_silent', message: `${text} ${errorTable.node_silent.next}`, node })
  }

  /** Is it blocked for a flow that nobody waits for? */
  #isOrphaned({ owner }: WatchedLane, { node }: Seen): boolean {
    const { front, plans, orphans } = this.#parts
    const owns = [...orphans()].some(flow => front.flows.ownerOf(flow) === owner)
    if (!owns || node === 0) return owns
    for (const plan of plans()) if (plan.enabled && plan.nodes.some(({ index }) => index === node - 1)) return false
    return true
  }

  async #find(lane: WatchedLane, seen: Seen): Promise<void> {
    seen.looked = true
    const node = await this.#nodeOn(lane)
    seen.looked = false
    // It has moved on meanwhile.
    if (this.#seen.get(lane.slot) !== seen) return
    // Seen between two calls of its body: the next look looks again.
    seen.told = node !== null
    if (node === null) return
    seen.found = node
    this.#blocks(node)
  }

  #blocks(node: number): void {
    this.#parts.front.counters.setPlacement(node, PLACEMENT.dispatch)
    this.#parts.onBlocked(node)
  }

  /** One thread after the other: each is looked at through the inspector of the whole process. */
  #nodeOn(lane: WatchedLane): Promise<number | null> {
    const found = this.#looking.then(() => this.#nodeNow(lane))
    this.#looking = found
    return found
  }

  async #nodeNow({ slot, owner }: WatchedLane): Promise<number | null> {
    const worker = this.#workerOf(slot)
    // The thread may end under the look.
    const digest = worker === undefined ? null : await bodyOnThread(worker).catch(() => null)
    return nodeOfBody(digest, this.#parts.plans(), flow => this.#parts.front.flows.ownerOf(flow) === owner)
  }

  #workerOf(slot: number): Worker | undefined {
    const { memory, threads } = this.#parts.front
    const thread = memory.i32[(threads.row(slot) >> 2) + THREAD_ROW.word.thread]
    return this.#parts.workers().find(worker => worker.threadId === thread)
  }

  /** Ends lanes before their heaps take the process along, which a thread's own limit does not always prevent. */
  lookAtHeaps(lanes: Iterable<WatchedLane>): void {
    // Each by itself: a lane that sleeps answers when it wakes.
    for (const lane of lanes) {
      if (this.#weighed.has(lane.owner)) continue
      this.#weighed.add(lane.owner)
      this.#weigh(lane)
        .catch(this.#parts.onDefect)
        .finally(() => this.#weighed.delete(lane.owner))
    }
  }

  async #weigh(lane: WatchedLane): Promise<void> {
    const heap = await this.#workerOf(lane.slot)
      ?.getHeapStatistics()
      .catch(() => null)
    const end_bytes = this.#parts.bounds.lane_heap_mb * 2 ** 20 * limits.HEAP_END_SHARE
    if (!heap || heap.used_heap_size < end_bytes / 2) this.#eater.delete(lane.owner)
    else if (heap.used_heap_size < end_bytes) await this.#noteEater(lane)
    else this.#endEater(lane, heap.used_heap_size)
  }

  /** Half way there is time to see who it is; at the end there is not. */
  async #noteEater(lane: WatchedLane): Promise<void> {
    const node = this.#running(lane) ?? this.#eater.get(lane.owner) ?? (await this.#nodeOn(lane))
    if (node !== null) this.#eater.set(lane.owner, node)
  }

  /** The node that was last seen in a lane with much heap. */
  eaterOf(owner: number): number | null {
    return this.#eater.get(owner) ?? null
  }

  #endEater(lane: WatchedLane, bytes: number): void {
    const node = this.#running(lane) ?? this.#eater.get(lane.owner) ?? null
    this.#eater.delete(lane.owner)
    const text = `Its lane held ${Math.round(bytes / 2 ** 20)} MiB of heap.`
    lane.end({ code: 'out_of_memory', message: `${text} ${errorTable.out_of_memory.next}`, node })
  }

  #running({ slot }: WatchedLane): number | null {
    const { memory, threads } = this.#parts.front
    const node = memory.i32[(threads.row(slot) >> 2) + THREAD_ROW.word.current_node]!
    return node > 0 ? node - 1 : null
  }
}

/** A lane that does not say when it comes round its loop is only watched while it runs a body. */
const moved = (seen: Seen, now: Seen): boolean =>
  seen.owner !== now.owner ||
  seen.node !== now.node ||
  seen.executions !== now.executions ||
  seen.heartbeat_ms !== now.heartbeat_ms ||
  (now.node === 0 && now.heartbeat_ms === 0)
