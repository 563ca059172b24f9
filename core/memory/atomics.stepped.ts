/**
 * Atomics for the interleaving search (import condition `interleave`, see test/kit/interleave.ts): of the two threads that
 * joined a search only the one that holds the baton runs. Before and after each atomic operation is a step, at which the
 * plan of the search may hand the baton over; what lies between two operations runs as one piece. A thread that has not
 * joined gets the intrinsics.
 */
const MOST_STEPS = 20_000

/** i32 words of the search's control memory. */
export const SEARCH = {
  /** Per thread: 1 when it may run. */
  baton: 0,
  /** Per thread: ACTOR_STATE. */
  state: 2,
  /** Per thread: the word that it waits on. */
  waits_on: 4,
  /** Per thread: 1 when that wait has an end of its own. */
  timed: 6,
  /** Per thread: 1 when the wait ended by itself. */
  timed_out: 8,
  /** Per thread: counts executions to run. */
  go: 10,
  /** Threads that are ready to begin. */
  ready: 12,
  /** Threads that ended. */
  done: 13,
  /** Steps taken so far by both. */
  step: 14,
  /** SEARCH_ERROR */
  error: 15,
  /** Own step at which thread 0 stops for good, -1 for never. */
  stop_at: 16,
  /** 1: it stops by a throw through the code under test, which must have no finally; else it stands until it is terminated. */
  stop_by_throw: 19,
  /** Steps of the plan at which the baton is handed over, and how many of them were used. */
  planned: 17,
  used: 18,
  plan: 20,
  /** One word a step: thread | 2 when the other one could have run. */
  log: 64,
  words: 64 + MOST_STEPS,
} as const
export const ACTOR_STATE = { idle: 0, able: 1, waiting: 2, done: 3, stopped: 4 } as const
export const SEARCH_ERROR = { none: 0, deadlock: 1, endless: 2 } as const

const seat: { control: Int32Array | null; me: number; steps: number } = { control: null, me: 0, steps: 0 }

/** From here on this thread is thread `me` (0 or 1) of a search; it waits for the baton. */
export function joinSearch(control: Int32Array, me: number): void {
  seat.control = control
  seat.me = me
  seat.steps = 0
  control[SEARCH.state + me] = ACTOR_STATE.able
  Atomics.add(control, SEARCH.ready, 1)
  Atomics.notify(control, SEARCH.ready)
  takeBaton(control, me)
}

/** The thread has done its part; the other one goes on. */
export function leaveSearch(): void {
  const { control, me } = seat
  if (control === null) return
  seat.control = null
  control[SEARCH.state + me] = ACTOR_STATE.done
  if (control[SEARCH.state + 1 - me] !== ACTOR_STATE.done) passOn(control, me)
  Atomics.add(control, SEARCH.done, 1)
  Atomics.notify(control, SEARCH.done)
}

function takeBaton(control: Int32Array, me: number): void {
  while (Atomics.exchange(control, SEARCH.baton + me, 0) === 0) Atomics.wait(control, SEARCH.baton + me, 0)
  if (control[SEARCH.error] !== SEARCH_ERROR.none) giveUp(control, control[SEARCH.error]!)
}

function giveBaton(control: Int32Array, to: number): void {
  Atomics.store(control, SEARCH.baton + to, 1)
  Atomics.notify(control, SEARCH.baton + to)
}

function giveUp(control: Int32Array, error: number): never {
  control[SEARCH.error] = error
  throw new RangeError(error === SEARCH_ERROR.deadlock ? 'both threads wait' : 'no end after very many steps')
}

/** This thread cannot go on. The other one runs, or a wait with an end of its own ends; false when this thread's did. */
function passOn(control: Int32Array, me: number): boolean {
  const other = 1 - me
  if (control[SEARCH.state + other] === ACTOR_STATE.able) {
    giveBaton(control, other)
    return true
  }
  if (control[SEARCH.state + me] === ACTOR_STATE.waiting && control[SEARCH.timed + me] === 1) return false
  if (control[SEARCH.state + other] === ACTOR_STATE.waiting) {
    if (control[SEARCH.timed + other] === 0) control[SEARCH.error] = SEARCH_ERROR.deadlock
    control[SEARCH.timed_out + other] = 1
    control[SEARCH.state + other] = ACTOR_STATE.able
    giveBaton(control, other)
    return true
  }
  if (control[SEARCH.state + me] === ACTOR_STATE.waiting) giveUp(control, SEARCH_ERROR.deadlock)
  return true
}

function step(): void {
  const { control, me } = seat
  if (control === null) return
  if (me === 0 && seat.steps++ === control[SEARCH.stop_at]) {
    control[SEARCH.state] = ACTOR_STATE.stopped
    if (control[SEARCH.stop_by_throw] === 1) seat.control = null
    Atomics.add(control, SEARCH.done, 2)
    Atomics.notify(control, SEARCH.done)
    if (seat.control === null) throw new RangeError('the search stopped this thread')
    for (;;) Atomics.wait(control, SEARCH.baton, 0)
  }
  const now = control[SEARCH.step]!
  if (now >= MOST_STEPS) giveUp(control, SEARCH_ERROR.endless)
  control[SEARCH.step] = now + 1
  const able = control[SEARCH.state + 1 - me] === ACTOR_STATE.able
  control[SEARCH.log + now] = me | (able ? 2 : 0)
  const used = control[SEARCH.used]!
  if (used === control[SEARCH.planned] || control[SEARCH.plan + used] !== now) return
  control[SEARCH.used] = used + 1
  if (able) swap(control, me)
}

function swap(control: Int32Array, me: number): void {
  giveBaton(control, 1 - me)
  takeBaton(control, me)
}

export function load(array: Int32Array, index: number): number {
  step()
  const value = Atomics.load(array, index)
  step()
  return value
}

export function store(array: Int32Array, index: number, value: number): number {
  step()
  Atomics.store(array, index, value)
  step()
  return value
}

export function add(array: Int32Array, index: number, value: number): number {
  step()
  const before = Atomics.add(array, index, value)
  step()
  return before
}

export function sub(array: Int32Array, index: number, value: number): number {
  step()
  const before = Atomics.sub(array, index, value)
  step()
  return before
}

export function and(array: Int32Array, index: number, value: number): number {
  step()
  const before = Atomics.and(array, index, value)
  step()
  return before
}

export function or(array: Int32Array, index: number, value: number): number {
  step()
  const before = Atomics.or(array, index, value)
  step()
  return before
}

export function exchange(array: Int32Array, index: number, value: number): number {
  step()
  const before = Atomics.exchange(array, index, value)
  step()
  return before
}

export function compareExchange(array: Int32Array, index: number, expected: number, value: number): number {
  step()
  const before = Atomics.compareExchange(array, index, expected, value)
  step()
  return before
}

export const acquire = load
export const release = store
export const recheck = load
export const announce = store

/** None: a spin is a load and the CAS that was tried before it, and the search has its preemptions for the sleep behind it. */
export const SPINS = 0

/** A spinning thread lets the other one run, also one whose wait has an end of its own: that costs the plan nothing. */
export function pause(): void {
  step()
  const { control, me } = seat
  if (control === null) return
  const other = 1 - me
  if (control[SEARCH.state + other] === ACTOR_STATE.waiting && control[SEARCH.timed + other] === 1) {
    control[SEARCH.timed_out + other] = 1
    control[SEARCH.state + other] = ACTOR_STATE.able
  }
  if (control[SEARCH.state + other] === ACTOR_STATE.able) swap(control, me)
}

export function wait(array: Int32Array, index: number, value: number, timeout = Number.POSITIVE_INFINITY) {
  const { control, me } = seat
  if (control === null) return Atomics.wait(array, index, value, timeout)
  step()
  if (array[index] !== value) return 'not-equal'
  control[SEARCH.waits_on + me] = index
  control[SEARCH.timed + me] = Number.isFinite(timeout) ? 1 : 0
  control[SEARCH.timed_out + me] = 0
  control[SEARCH.state + me] = ACTOR_STATE.waiting
  if (!passOn(control, me)) {
    control[SEARCH.state + me] = ACTOR_STATE.able
    return 'timed-out'
  }
  takeBaton(control, me)
  return control[SEARCH.timed_out + me] === 1 ? 'timed-out' : 'ok'
}

export function notify(array: Int32Array, index: number, count = Number.POSITIVE_INFINITY): number {
  const { control, me } = seat
  if (control === null) return Atomics.notify(array, index, count)
  step()
  const other = 1 - me
  const wakes = control[SEARCH.state + other] === ACTOR_STATE.waiting && control[SEARCH.waits_on + other] === index
  if (wakes) control[SEARCH.state + other] = ACTOR_STATE.able
  step()
  return wakes ? 1 : 0
}

/** The thread stands here until it is woken, as if it had nothing else to do; the promise holds then. */
export function waitAsync(array: Int32Array, index: number, value: number, timeout?: number) {
  if (seat.control === null) return Atomics.waitAsync(array, index, value, timeout)
  const ended = wait(array, index, value, timeout)
  if (ended === 'not-equal') return { async: false as const, value: ended }
  return { async: true as const, value: Promise.resolve(ended) }
}
