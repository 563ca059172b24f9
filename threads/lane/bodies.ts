import type { FlowRun } from '../../core/cascade/flow-run.ts'
import type { Body, Seat } from '../../core/cascade/seat.ts'
import { OutboxWriter } from '../../core/memory/outbox.ts'
import type { ArtifactPlace } from '../calls/artifact-files.ts'
import { loadBody } from '../calls/node-call.ts'
import { NodeContext, type NodeState } from '../calls/node-context.ts'
import { InlineContextHost, type LaneForContext } from '../calls/node-host.ts'
import { builtInBody } from '../nodes/lane-bodies.ts'
import type { LanePrints } from './lane-prints.ts'
import type { LaneTask } from './messages.ts'
import type { LaneSeat } from './seat.ts'

/** Where a lane finds its bodies, and where bodies store artifacts. */
type LaneFolders = Pick<LaneTask, 'bodies' | 'artifacts'>

/** The bodies that a lane has loaded, by digest. They live as long as the thread, like its modules. */
export class LaneBodies {
  readonly #folder: string
  readonly #artifacts: ArtifactPlace
  readonly #lane: LaneForContext
  readonly #prints: LanePrints
  readonly #stateOf: (seat: LaneSeat) => NodeState
  readonly #loaded = new Map<string, Body>()
  readonly #outboxes = new Map<number, OutboxWriter>()
  #loading = 0

  constructor(
    { bodies, artifacts }: LaneFolders,
    lane: LaneForContext,
    prints: LanePrints,
    stateOf: (seat: LaneSeat) => NodeState,
  ) {
    this.#folder = bodies
    this.#artifacts = artifacts
    this.#lane = lane
    this.#prints = prints
    this.#stateOf = stateOf
  }

  takeOutboxes(outboxes: ReadonlyMap<number, SharedArrayBuffer>): void {
    for (const [node, sab] of outboxes) this.#outboxes.set(node, new OutboxWriter(sab))
  }

  /** The event loop is served meanwhile. */
  get isLoading(): boolean {
    return this.#loading > 0
  }

  /** True when the lane had the body already. */
  giveAtOnce(flow: FlowRun, seat: Seat): boolean {
    const { digest } = seat.node
    const body = digest === null ? builtInBody(seat.node, this.#outboxes) : this.#loaded.get(digest)
    if (body == null) return false
    this.#give(body, flow, seat as LaneSeat)
    return true
  }

  async load(flow: FlowRun, seat: Seat): Promise<void> {
    const digest = seat.node.digest ?? ''
    this.#loading++
    try {
      const body = await loadBody(this.#folder, digest, seat.node.qualified)
      this.#loaded.set(digest, body)
      this.#give(body, flow, seat as LaneSeat)
    } catch (error) {
      seat.broken = error
    }
    this.#loading--
    flow.bodyReady(seat)
  }

  #give(body: Body, flow: FlowRun, seat: LaneSeat): void {
    seat.body = body
    this.renewContext(flow, seat)
  }

  /** Another lane has run the flow since: the state of the node has to be read again. */
  renew(flow: FlowRun, seat: Seat): void {
    const here = seat as LaneSeat
    here.state = null
    if (here.body !== null) this.renewContext(flow, here)
  }

  /** An execution that went away keeps its context; the next one gets a new one. */
  renewContext(flow: FlowRun, seat: LaneSeat): void {
    const speaker = new InlineContextHost(this.#lane, flow, seat, this.#artifacts)
    const { id, qualified, settings } = seat.node
    seat.speaker = speaker
    const context = new NodeContext(
      { flow: flow.name, id, qualified, settings },
      speaker,
      this.#stateOf(seat),
      seat.lines,
    )
    seat.context = context
    this.#prints.renewed(seat.node.digest, context)
  }
}
