import { openSocket } from '#client/socket'
import type { Problem } from '../../../protocol/errors.ts'
import type { EngineEvent } from '../../../protocol/nouns/event.ts'
import type { RunLogPage } from '../../../protocol/nouns/run-log.ts'
import type { ActivityFrame } from '../../../protocol/socket/activity.ts'
import type { EngineFigures, FlowFigures } from '../../../protocol/socket/figures.ts'
import { ClientError } from '../client-error.ts'
import { problemText } from '../problem-text.ts'
import type { Address, Socket } from '../socket.ts'
import { type EngineFigureValues, FigureBook, type FiguresOf, type FlowFigureValues } from './figure-book.ts'

/** A value as it arrives, `{type: 'message_value', …}`. */
export interface ValueFrame {
  type: 'message_value'
  name: string
  version: number
  ts: string
  value: unknown
  /** Values of this name that were not sent since the one before. */
  missed?: number
}

/** What only screens are told. */
export type ScreenFrame =
  | { type: 'panel_changed'; lost: string[]; dashboards: { name: string; version: number }[] }
  | { type: 'source'; name: string; status: 'ok' }
  | { type: 'source'; name: string; status: 'down'; code: string; since: string | null }

export interface LiveSocketOptions {
  /** Asked again for each connection: a restarted engine may be elsewhere and have another token. */
  readonly find: () => Address
  readonly names?: readonly string[]
  /** Every message of these flows. */
  readonly flows?: readonly string[]
  /** Messages whose frames are wanted, too. */
  readonly media?: readonly string[]
  /** Follow flows that are made or renamed later, too. */
  readonly newFlows?: boolean
  onValue?(frame: ValueFrame): void
  /** A binary frame: the bytes behind a value, see docs/sockets.md. */
  onFrame?(bytes: Uint8Array): void
  /** Given, engine events are followed too. */
  onEvent?(event: EngineEvent): void
  /** The log of a run that is followed, from a position on; asked again for each connection. */
  readonly log?: () => { readonly run: string; readonly after: number }
  /** For a screen that is paired with a panel: its dashboards have changed, or a source is down or there again; docs/panels.md. */
  onScreen?(frame: ScreenFrame): void
  /** Lines of it were stored, or the run has ended. */
  onLog?(page: RunLogPage): void
  /** Given, the figures of flows are followed, too: all of them after each connection, then those that have changed. */
  onActivity?(frame: ActivityFrame): void
  /** What is counted of flows and of the engine comes once a second. */
  readonly figures?: FiguresOf
  onFlowFigures?(figures: FlowFigureValues): void
  onEngineFigures?(figures: EngineFigureValues): void
  /** `url` of the engine that answers; null while there is none. */
  onLink?(url: string | null): void
  /** The engine follows for us from here on; after each connection. */
  onFollowing?(): void
  /** Something to know that ends nothing, such as a followed message that was removed. */
  onNotice?(text: string): void
  /** The end: a ClientError, or what `find` threw. */
  onFailure(error: unknown): void
}

export interface Followed {
  readonly names?: readonly string[]
  /** Every message of these flows. */
  readonly flows?: readonly string[]
}

type Publishing = Pick<PromiseWithResolvers<number>, 'resolve' | 'reject'>

const refusalOf = (problem: Problem): ClientError =>
  new ClientError('refused', problemText(problem), { status: problem.status, problem })

const RETRY_MS_MIN = 250
const RETRY_MS_MAX = 5_000
const FLOW_EVENTS = ['flow_saved', 'flow_renamed']
/** As protocol/socket/frames.ts has it, which is not loaded for it: its schemas cost more than all of this. */
const SUBPROTOCOL: typeof import('../../../protocol/socket/frames.ts').SUBPROTOCOL = 'svc.v1'

/**
 * Follows messages and events for as long as it lives. The first connection has to work; one that is lost later is made again
 * (after 0.25 s, doubling to 5 s) and goes on from the versions that are already here.
 */
export class LiveSocket {
  readonly #options: LiveSocketOptions
  /** Of every message that came, and 0 of those that were asked for later and have not come. */
  readonly #versions = new Map<string, number>()
  /** Messages that are followed by their own names. */
  readonly #names: Set<string>
  readonly #flows: Set<string>
  #media: readonly string[] | null
  #figures: FiguresOf | null
  readonly #figure_book = new FigureBook()
  readonly #publishes = new Map<number, Publishing>()
  #publish_id = 0
  readonly #wantsEvents: boolean
  #socket: Socket | null = null
  #retrying: ReturnType<typeof setTimeout> | null = null
  #retry_ms = RETRY_MS_MIN
  #wasLive = false
  #isLive = false
  #isFollowing = false
  #isClosed = false
  /** The flow of whose nodes the figures are wanted, too. */
  #nodes_of: string | null = null

  constructor(options: LiveSocketOptions) {
    this.#options = options
    this.#names = new Set(options.names)
    this.#flows = new Set(options.flows)
    this.#media = options.media ?? null
    this.#figures = options.figures ?? null
    this.#wantsEvents = options.onEvent !== undefined || options.newFlows === true
    this.#connect()
  }

  close(): void {
    this.#isClosed = true
    this.#isLive = false
    if (this.#retrying !== null) clearTimeout(this.#retrying)
    this.#socket?.close()
    this.#loseWhatIsUnderWay()
  }

  /**
   * Follows these, too, from now on. A message that does not exist is passed over, and is followed by whoever asks again when it does; a flow that
   * does not exist is told as a notice.
   */
  follow({ names = [], flows = [] }: Followed): void {
    for (const name of names) {
      this.#names.add(name)
      if (!this.#versions.has(name)) this.#versions.set(name, 0)
    }
    for (const flow of flows) this.#flows.add(flow)
    if (!this.#isLive) return
    if (names.length > 0) this.#have(names)
    // Each for itself: an unknown one would refuse all.
    for (const flow of flows) this.#send({ type: 'subscribe', flows: [flow] })
  }

  /** A message that is followed by its name and by its flow goes on until both end. */
  unfollow({ names = [], flows = [] }: Followed): void {
    for (const name of names) this.#names.delete(name)
    for (const flow of flows) this.#flows.delete(flow)
    const kept: string[] = []
    for (const name of this.#versions.keys()) {
      const flow = name.slice(0, name.indexOf('.'))
      if (this.#names.has(name)) {
        if (flows.includes(flow)) kept.push(name)
      } else if (!this.#flows.has(flow)) this.#versions.delete(name)
    }
    if (!this.#isLive) return
    this.#send({ type: 'unsubscribe', names, flows })
    // What a reconnect resumed by its name ends with its flow.
    if (kept.length > 0) this.#have(kept)
  }

  /** The messages whose frames come, in place of those before. */
  media(names: readonly string[]): void {
    this.#media = names
    if (this.#isLive) this.#send({ type: 'media', names })
  }

  /** Figures of these flows come, and of the engine, in place of those before. */
  figures(of: FiguresOf): void {
    this.#figures = of
    this.#figure_book.keep(of)
    if (this.#isLive) this.#send({ type: 'figures', ...of })
  }

  /**
   * Publishes one value; resolves with its version when it was accepted, with `durable` when it is on disk. Rejects with a ClientError: `refused`,
   * `unreached` while there is no connection, `lost` when the connection ended before the answer.
   */
  publish(name: string, value: unknown, { durable = false }: { readonly durable?: boolean } = {}): Promise<number> {
    if (!this.#isLive) return Promise.reject(new ClientError('unreached', 'There is no connection to the engine now.'))
    const id = ++this.#publish_id
    const answer = Promise.withResolvers<number>()
    this.#publishes.set(id, answer)
    this.#send({ type: 'publish', id, name, value, ...(durable ? { durable } : {}) })
    return answer.promise
  }

  /** With the figures of flows come those of the nodes of this one, in place of the one before. */
  followNodes(flow: string | null): void {
    this.#nodes_of = flow
    if (this.#isLive) this.#followActivity()
  }

  #followActivity(): void {
    this.#send({ type: 'follow_activity', nodes_of: this.#nodes_of })
  }

  /** Names that are gone are passed over. */
  #have(names: Iterable<string>): void {
    const versions = Object.fromEntries(Array.from(names, name => [name, this.#versions.get(name) ?? 0]))
    this.#send({ type: 'have', versions })
  }

  #send(frame: object): void {
    this.#socket?.send(JSON.stringify(frame))
  }

  #loseWhatIsUnderWay(): void {
    const error = new ClientError('lost', 'The connection ended before the engine had answered a publish.')
    for (const { reject } of this.#publishes.values()) reject(error)
    this.#publishes.clear()
  }

  #connect(): void {
    if (this.#isClosed) return
    let engine: Address
    try {
      engine = this.#options.find()
    } catch (error) {
      if (!this.#wasLive) return this.#options.onFailure(error)
      return this.#retry()
    }
    const socket = openSocket(engine, '/ws/flows', SUBPROTOCOL, {
      opened: () => this.#open(engine),
      text: text => {
        if (!this.#isClosed) this.#hear(text)
      },
      binary: bytes => {
        if (!this.#isClosed) this.#options.onFrame?.(bytes)
      },
      refused: (status, reason) => {
        if (status === null) this.#unreached(reason, engine)
        else this.#refused(status, engine)
      },
      closed: () => {
        if (this.#isClosed) return
        if (this.#isLive) this.#options.onLink?.(null)
        this.#isLive = false
        this.#loseWhatIsUnderWay()
        this.#retry()
      },
    })
    this.#socket = socket
  }

  #open(engine: Address): void {
    if (this.#isClosed) return
    this.#wasLive = true
    this.#isLive = true
    this.#retry_ms = RETRY_MS_MIN
    this.#options.onLink?.(engine.url)
    // First what is here already: a subscription would bring its newest value once more.
    if (this.#versions.size > 0) this.#have(this.#versions.keys())
    const events = this.#wantsEvents
    if (this.#isFollowing) {
      this.#send({ type: 'subscribe', events })
      // What is gone by now is told, and does not keep the rest from being followed.
      for (const flow of this.#flows) this.#send({ type: 'subscribe', flows: [flow] })
    } else {
      const names = [...this.#names].filter(name => !this.#versions.has(name))
      this.#send({ type: 'subscribe', names, flows: [...this.#flows], events })
    }
    if (this.#media !== null) this.#send({ type: 'media', names: this.#media })
    this.#figure_book.clear()
    if (this.#figures !== null) this.#send({ type: 'figures', ...this.#figures })
    const log = this.#options.log?.()
    if (log !== undefined) this.#send({ type: 'follow_logs', ...log })
    if (this.#options.onActivity !== undefined) this.#followActivity()
  }

  #hear(text: string): void {
    const frame = JSON.parse(text) as ValueFrame | { type: 'error'; problem: Problem } | EngineEvent
    switch (frame.type) {
      case 'message_value': {
        const value = frame as ValueFrame
        this.#versions.set(value.name, value.version)
        return this.#options.onValue?.(value)
      }
      case 'error': {
        const { problem, id } = frame as { problem: Problem; id?: number }
        const publishing = this.#publishOf(id)
        if (publishing !== null) return publishing.reject(refusalOf(problem))
        // Before anything is followed it was the names that were given; later it is news.
        if (this.#isFollowing) this.#options.onNotice?.(problemText(problem))
        else this.#fail(refusalOf(problem))
        return
      }
      case 'ack': {
        const { id, version } = frame as unknown as { id: number; version: number }
        return this.#publishOf(id)?.resolve(version)
      }
      case 'subscribed':
        this.#isFollowing = true
        return this.#options.onFollowing?.()
      case 'media':
      case 'figures':
        return
      case 'flow_figures':
      case 'engine_figures':
        return this.#hearFigures(frame as unknown as FlowFigures | EngineFigures)
      case 'activity':
        return this.#options.onActivity?.(frame as unknown as ActivityFrame)
      case 'panel_changed':
      case 'source':
        return this.#options.onScreen?.(frame as unknown as ScreenFrame)
      case 'log_lines':
        return this.#options.onLog?.(frame as unknown as RunLogPage)
      default:
        return this.#event(frame as EngineEvent)
    }
  }

  #hearFigures(frame: FlowFigures | EngineFigures): void {
    if (frame.type === 'flow_figures') {
      const figures = this.#figure_book.flow(frame)
      if (figures !== null) this.#options.onFlowFigures?.(figures)
    } else {
      const figures = this.#figure_book.engine(frame)
      if (figures !== null) this.#options.onEngineFigures?.(figures)
    }
  }

  /** That this answers; null: it answers something else. */
  #publishOf(id: number | undefined): Publishing | null {
    const publishing = id === undefined ? undefined : this.#publishes.get(id)
    if (publishing === undefined) return null
    this.#publishes.delete(id!)
    return publishing
  }

  #event(event: EngineEvent): void {
    if (this.#options.newFlows && FLOW_EVENTS.includes(event.type)) {
      const { flow, to } = event as EngineEvent & { to?: string }
      for (const name of [flow, to]) if (name) this.#followNew(name)
    }
    this.#options.onEvent?.(event)
  }

  #followNew(flow: string): void {
    if (this.#flows.has(flow)) return
    this.#flows.add(flow)
    this.#send({ type: 'subscribe', flows: [flow] })
  }

  #refused(status: number, { url }: Address): void {
    if (status === 401) return this.#fail(new ClientError('refused', `${url} does not accept the token.`, { status }))
    if (status === 403)
      return this.#fail(new ClientError('refused', `${url} does not allow this user to open a websocket.`, { status }))
    if (this.#wasLive) return
    const text = `${url} answered ${status} to a websocket. Is it an engine?`
    this.#fail(new ClientError('not_an_engine', text, { status }))
  }

  #unreached(reason: unknown, { url }: Address): void {
    if (this.#wasLive) return
    const text = `No engine answers at ${url} (${(reason instanceof Error && reason.message) || 'no connection'}).`
    this.#fail(new ClientError('unreached', text, { cause: reason }))
  }

  #fail(error: ClientError): void {
    if (this.#isClosed) return
    this.close()
    this.#options.onFailure(error)
  }

  #retry(): void {
    this.#retrying = setTimeout(() => this.#connect(), this.#retry_ms)
    this.#retry_ms = Math.min(RETRY_MS_MAX, this.#retry_ms * 2)
  }
}
