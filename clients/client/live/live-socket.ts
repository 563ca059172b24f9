import { openSocket } from '#client/socket'
import type { Problem } from '../../../protocol/errors.ts'
import type { EngineEvent } from '../../../protocol/nouns/event.ts'
import type { RunLogPage } from '../../../protocol/nouns/run-log.ts'
import type { ActivityFrame } from '../../../protocol/socket/activity.ts'
import { ClientError } from '../client-error.ts'
import { problemText } from '../problem-text.ts'
import type { Address, Socket } from '../socket.ts'

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
  /** Lines of it were stored, or the run has ended. */
  onLog?(page: RunLogPage): void
  /** Given, the figures of flows are followed, too: all of them after each connection, then those that have changed. */
  onActivity?(frame: ActivityFrame): void
  /** `url` of the engine that answers; null while there is none. */
  onLink?(url: string | null): void
  /** The engine follows for us from here on; after each connection. */
  onFollowing?(): void
  /** Something to know that ends nothing, such as a followed message that was removed. */
  onNotice?(text: string): void
  /** The end: a ClientError, or what `find` threw. */
  onFailure(error: unknown): void
}

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
  readonly #versions = new Map<string, number>()
  readonly #flows: Set<string>
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
    this.#flows = new Set(options.flows)
    this.#wantsEvents = options.onEvent !== undefined || options.newFlows === true
    this.#connect()
  }

  close(): void {
    this.#isClosed = true
    if (this.#retrying !== null) clearTimeout(this.#retrying)
    this.#socket?.close()
  }

  /** With the figures of flows come those of the nodes of this one, in place of the one before. */
  followNodes(flow: string | null): void {
    this.#nodes_of = flow
    if (this.#isLive) this.#followActivity()
  }

  #followActivity(): void {
    this.#socket?.send(JSON.stringify({ type: 'follow_activity', nodes_of: this.#nodes_of }))
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
      opened: () => this.#open(socket, engine),
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
        this.#retry()
      },
    })
    this.#socket = socket
  }

  #open(socket: Socket, engine: Address): void {
    if (this.#isClosed) return
    this.#wasLive = true
    this.#isLive = true
    this.#retry_ms = RETRY_MS_MIN
    this.#options.onLink?.(engine.url)
    // First what is here already: a subscription would bring its newest value once more.
    if (this.#versions.size > 0) {
      socket.send(JSON.stringify({ type: 'have', versions: Object.fromEntries(this.#versions) }))
    }
    const names = (this.#options.names ?? []).filter(name => !this.#versions.has(name))
    socket.send(JSON.stringify({ type: 'subscribe', names, flows: [...this.#flows], events: this.#wantsEvents }))
    const { media } = this.#options
    if (media !== undefined) socket.send(JSON.stringify({ type: 'media', names: media }))
    const log = this.#options.log?.()
    if (log !== undefined) socket.send(JSON.stringify({ type: 'follow_logs', ...log }))
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
        const { problem } = frame as { problem: Problem }
        // Before anything is followed it was the names that were given; later it is news.
        if (this.#isFollowing) this.#options.onNotice?.(problemText(problem))
        else this.#fail(new ClientError('refused', problemText(problem), { status: problem.status, problem }))
        return
      }
      case 'subscribed':
        this.#isFollowing = true
        return this.#options.onFollowing?.()
      case 'media':
        return
      case 'activity':
        return this.#options.onActivity?.(frame as unknown as ActivityFrame)
      case 'log_lines':
        return this.#options.onLog?.(frame as unknown as RunLogPage)
      default:
        return this.#event(frame as EngineEvent)
    }
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
    this.#socket?.send(JSON.stringify({ type: 'subscribe', flows: [flow] }))
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
