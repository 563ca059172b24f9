import type { ExecutionTimes, NodeCounters } from '../../core/memory/counters.ts'

/** Times of an execution that come to these latencies, in ns. The start is at zero, where doubles are most exact. */
export const timesOf = (wait_ns: number, execution_ns: number, total_ns: number): ExecutionTimes => ({
  published_ms: -wait_ns / 1e6,
  ended_ms: execution_ns / 1e6,
  took_ms: execution_ns / 1e6,
  root_ms: (execution_ns - total_ns) / 1e6,
})

export function countExecution(counters: NodeCounters, node: number, times: ExecutionTimes): void {
  counters.execution(node, times)
  counters.flush()
}

export function countWire(counters: NodeCounters, wire: number, times: ExecutionTimes): void {
  counters.wire(wire, times, times.published_ms)
  counters.flush()
}
