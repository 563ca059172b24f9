import type { RunNodeStatus, RunStatus } from '../../protocol/nouns/run.ts'

/**
 * The moves of a run:
 *
 *   queued --claimed--> running --> succeeded | failed | cancelled
 *      `---cancelled before a claim---> cancelled
 *
 * A run that was running when its engine ended fails; one that was queued stays so.
 */
const RUN_MOVES: Readonly<Record<RunStatus, readonly RunStatus[]>> = {
  queued: ['running', 'cancelled'],
  running: ['succeeded', 'failed', 'cancelled'],
  succeeded: [],
  failed: [],
  cancelled: [],
}

/**
 * The moves of a node within a run. `queued` and `running` may take turns, since each execution waits for its own resources;
 * the final status is written once, when nothing can wake the node any more.
 *
 *   pending --waits for resources or a slot--> queued <--> running --> succeeded | failed
 *      |--woken by nothing-----> skipped
 *      `--found in the cache---> cached
 *
 * and from every status that is not final to `cancelled`, with the run.
 */
const NODE_MOVES: Readonly<Record<RunNodeStatus, readonly RunNodeStatus[]>> = {
  pending: ['queued', 'running', 'cached', 'skipped', 'cancelled'],
  queued: ['running', 'failed', 'cancelled'],
  running: ['queued', 'succeeded', 'failed', 'cancelled'],
  succeeded: [],
  failed: [],
  cancelled: [],
  cached: [],
  skipped: [],
}

/** Checks the move and returns the new status. An invalid move is a programmer's mistake. */
export function moveRun(from: RunStatus, to: RunStatus): RunStatus {
  return move('run', RUN_MOVES, from, to)
}

/** As `moveRun`, for a node of a run. */
export function moveNode(from: RunNodeStatus, to: RunNodeStatus): RunNodeStatus {
  return move('node', NODE_MOVES, from, to)
}

/** Nothing follows it. */
export const isFinalNode = (status: RunNodeStatus): boolean => NODE_MOVES[status].length === 0

function move<Status extends string>(
  what: string,
  moves: Readonly<Record<Status, readonly Status[]>>,
  from: Status,
  to: Status,
): Status {
  if (!moves[from].includes(to)) throw new RangeError(`a ${what} does not go from ${from} to ${to}`)
  return to
}
