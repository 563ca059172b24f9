import type { ThreadClock } from '../core/memory/clock.ts'

/** Bodies of this thread may replace what the globals name. */
const { performance, process } = globalThis
const TRIES = 8

/** The least of some looks: a thread can lose its processor between the two clocks. */
function aheadMs(): number {
  let ahead_ms = 0
  let shortest_ms = Number.POSITIVE_INFINITY
  for (let i = 0; i < TRIES; i++) {
    const before_ms = performance.now()
    const process_ms = Number(process.hrtime.bigint()) / 1e6
    const took_ms = performance.now() - before_ms
    if (took_ms >= shortest_ms) continue
    shortest_ms = took_ms
    ahead_ms = process_ms - before_ms - took_ms / 2
  }
  return ahead_ms
}

/**
 * `performance.now()` counts from the start of its thread, and `timeOrigin` is the machine's clock at that start: neither is the
 * same in two threads. `hrtime` is, but makes an object of each answer; so how far it is ahead is looked up once.
 */
export const threadClock: ThreadClock = { now: () => performance.now(), ahead_ms: aheadMs() }
