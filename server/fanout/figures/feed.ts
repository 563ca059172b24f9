import type { Steps } from '../../../core/steps.ts'
import { type ErrorPlace, ServiceError } from '../../../protocol/errors.ts'
import { limits } from '../../../protocol/limits.ts'
import type { Socket } from '../../http/socket.ts'
import { inSlices } from '../../watch/slices.ts'
import { FigureFrames, type TakenEngine, type TakenFlow } from './frames.ts'

export interface FigureSource {
  hasFlow(name: string): boolean
  /** Null: there is no such flow. */
  flow(name: string): Steps<TakenFlow | null>
  engine(): Steps<TakenEngine>
}

export interface FigureFeedParts {
  readonly source: FigureSource
  readonly onDefect: (error: unknown) => void
  /** Milliseconds of a steady clock. */
  readonly now_ms?: () => number
}

/** What one socket asked for. */
interface Follower {
  readonly socket: Socket
  /** By flow, in the order of the next round: the round whose frame it got last, or `NEVER`. Those that it did not get last time come first. */
  readonly flows: Map<string, number>
  engine: boolean
  engine_round: number
  /** It has got nothing of what it asked for: it is served ahead of the next whole second. */
  isNew: boolean
}

const NEVER = -1

/**
 * What the engine counts, once a second to the sockets that asked for it. Of each flow that somebody follows, and of the engine, figures are
 * taken once a round, in slices, and written once: whole for those who have not got the round before, and only what differs for the
 * others. A socket with much unread is left out, so that it gets the newest when it has read. One timer for all; none while nobody follows.
 *
 *   idle --somebody follows--> waiting --due--> in a round --somebody still follows--> waiting
 *                                                          --nobody does--> idle
 *
 * A round ahead of its second serves newcomers alone. What they get is whole, and so is what they get in the next round, since it lies between
 * two rounds.
 */
export class FigureFeed {
  readonly #source: FigureSource
  readonly #onDefect: (error: unknown) => void
  readonly #now: () => number
  readonly #followers = new Map<Socket, Follower>()
  #timer: NodeJS.Timeout | null = null
  #inRound = false
  #round = 0
  /** When the last round for all began, and when any did. */
  #round_ms = Number.NEGATIVE_INFINITY
  #began_ms = Number.NEGATIVE_INFINITY
  /** Of the last round; the engine's under ''. */
  #before = new Map<string, FigureFrames>()

  constructor({ source, onDefect, now_ms }: FigureFeedParts) {
    this.#source = source
    this.#onDefect = onDefect
    this.#now = now_ms ?? (() => performance.now())
  }

  /** In place of what the socket followed before. Answers the flows that there are, and those that there are not. */
  follow(socket: Socket, flows: readonly string[], engine: boolean): { flows: string[]; unknown: ErrorPlace[] } {
    const known: string[] = []
    const unknown: ErrorPlace[] = []
    for (const flow of new Set(flows)) {
      if (this.#source.hasFlow(flow)) known.push(flow)
      else unknown.push({ loc: flow, msg: 'there is no flow of this name' })
    }
    if (known.length === 0 && !engine) this.closed(socket)
    else this.#set(socket, known, engine)
    return { flows: known, unknown }
  }

  closed(socket: Socket): void {
    this.#followers.delete(socket)
    if (this.#followers.size === 0) this.#rest()
  }

  get size(): number {
    return this.#followers.size
  }

  #set(socket: Socket, flows: readonly string[], engine: boolean): void {
    const before = this.#followers.get(socket)
    const rounds = new Map(flows.map(flow => [flow, before?.flows.get(flow) ?? NEVER]))
    const engine_round = engine ? (before?.engine_round ?? NEVER) : NEVER
    const isNew = (engine && engine_round === NEVER) || [...rounds.values()].includes(NEVER)
    this.#followers.set(socket, { socket, flows: rounds, engine, engine_round, isNew })
    this.#arm()
  }

  #arm(): void {
    if (this.#inRound || this.#followers.size === 0) return
    const isSoon = [...this.#followers.values()].some(({ isNew }) => isNew)
    const due_ms = isSoon
      ? Math.min(this.#began_ms + limits.FIGURES_SOON_MS, this.#round_ms + limits.FIGURES_MS)
      : this.#round_ms + limits.FIGURES_MS
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#begin(), Math.max(0, due_ms - this.#now()))
    this.#timer.unref()
  }

  #begin(): void {
    this.#timer = null
    this.#inRound = true
    const now_ms = this.#now()
    this.#began_ms = now_ms
    // A timer may be early by a fraction of a millisecond.
    const isForAll = now_ms > this.#round_ms + limits.FIGURES_MS - 2
    if (isForAll) {
      this.#round_ms = now_ms
      this.#round++
    }
    inSlices(this.#serve(isForAll))
      .catch(error => {
        this.#before = new Map()
        this.#onDefect(error)
      })
      .finally(() => {
        this.#inRound = false
        if (this.#followers.size === 0) this.#rest()
        else this.#arm()
      })
  }

  #rest(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    if (!this.#inRound) this.#before = new Map()
  }

  *#serve(isForAll: boolean): Steps<void> {
    const taken = new Map<string, FigureFrames | null>()
    for (const follower of [...this.#followers.values()]) {
      if (!isForAll && !follower.isNew) continue
      follower.isNew = false
      if (follower.engine) yield* this.#serveEngine(follower, taken, isForAll)
      for (const flow of [...follower.flows.keys()]) yield* this.#serveFlow(follower, flow, taken, isForAll)
    }
    if (!isForAll) return
    this.#before = new Map()
    for (const [name, frames] of taken) if (frames !== null) this.#before.set(name, frames)
  }

  *#serveEngine(follower: Follower, taken: Map<string, FigureFrames | null>, isForAll: boolean): Steps<void> {
    let frames = taken.get('')
    if (frames === undefined) taken.set('', (frames = yield* FigureFrames.of(yield* this.#source.engine())))
    if (!this.#mayGet(follower)) return
    this.#send(follower, frames!, this.#before.get(''), isForAll ? follower.engine_round : NEVER)
    follower.engine_round = isForAll ? this.#round : NEVER
  }

  *#serveFlow(
    follower: Follower,
    flow: string,
    taken: Map<string, FigureFrames | null>,
    isForAll: boolean,
  ): Steps<void> {
    yield
    let frames = taken.get(flow)
    if (frames === undefined) {
      const figures = yield* this.#source.flow(flow)
      taken.set(flow, (frames = figures === null ? null : yield* FigureFrames.of(figures)))
    }
    // What it follows may have been replaced meanwhile.
    const last = follower.flows.get(flow)
    if (last === undefined || this.#followers.get(follower.socket) !== follower) return
    if (frames === null) {
      follower.flows.delete(flow)
      this.#tellGone(follower, flow)
      return
    }
    if (!this.#mayGet(follower)) return
    follower.flows.delete(flow)
    follower.flows.set(flow, isForAll ? this.#round : NEVER)
    this.#send(follower, frames, this.#before.get(flow), isForAll ? last : NEVER)
  }

  #mayGet(follower: Follower): boolean {
    const isHere = this.#followers.get(follower.socket) === follower && follower.socket.isOpen
    return isHere && follower.socket.bufferedAmount() <= limits.SOCKET_FIGURE_BYTES
  }

  /** `last`: the round whose frame it has. */
  #send({ socket }: Follower, frames: FigureFrames, before: FigureFrames | undefined, last: number): void {
    const isNext = last === this.#round - 1 && before !== undefined
    socket.send(isNext ? frames.changed(before) : frames.whole())
  }

  #tellGone({ socket }: Follower, flow: string): void {
    const problem = new ServiceError('flow_not_found', `Flow "${flow}" was removed or renamed; its figures end here.`)
    socket.send(JSON.stringify({ type: 'error', problem }))
  }
}
