import { type ErrorCode, type ErrorPlace, ServiceError } from '../../../protocol/errors.ts'
import { limits } from '../../../protocol/limits.ts'
import { type PanelPrincipal, toldTo } from '../../auth/principal.ts'
import type { Engine } from '../../engine.ts'
import type { Socket, TextSocketHandlers } from '../../http/socket.ts'
import type { Fanout } from '../fanout.ts'
import type { FigureFeed } from '../figures/feed.ts'
import type { Follower } from '../follower.ts'
import type { LogFollowers } from '../log-followers.ts'
import type { MessageDirectory } from '../topics.ts'
import type { ActivityFollowers } from './activity-followers.ts'
import { type Frame, idOf, readFrame } from './frames.ts'
import { permitted } from './permitted.ts'

/** Who keeps what screens asked for, so that it can be taken from them, and told what becomes of it. */
export interface PanelFollowers {
  opened(follower: Follower, principal: PanelPrincipal): void
  closed(follower: Follower): void
  asked(follower: Follower, names: Iterable<string>): void
  unasked(follower: Follower, names: Iterable<string>): void
  /** In place of those of before. */
  askedMedia(follower: Follower, names: readonly string[]): void
}

export interface FlowsSocketServices {
  fanout: Fanout
  /** None: there are no screens. */
  panels?: PanelFollowers
  logs: LogFollowers
  activity: ActivityFollowers
  figures: FigureFeed
  directory: MessageDirectory
  messages: Pick<Engine['messages'], 'publish' | 'publishDurably'>
  /** An error that no user caused; it goes to the log. */
  onDefect: (error: unknown) => void
  /** Milliseconds of a steady clock. */
  now_ms?: () => number
}

/** How many of many names an answer spells out. */
const NAMES_SHOWN = 20

type Subscribe = Extract<Frame, { type: 'subscribe' }>
type Unsubscribe = Extract<Frame, { type: 'unsubscribe' }>
type Publish = Extract<Frame, { type: 'publish' }>
type MediaNames = Extract<Frame, { type: 'media' }>
type FiguresOf = Extract<Frame, { type: 'figures' }>
type Have = Extract<Frame, { type: 'have' }>

/** One connection: what it follows, and how often it was refused lately. */
interface Connection {
  follower: Follower
  refusals: number
  /** Start of the window in which the refusals are counted. */
  window_ms: number
}

/** `/ws/flows`: frames in, answers out. The values that a client follows come from the fan-out. `docs/sockets.md` is its user's page. */
export class FlowsSocket implements TextSocketHandlers {
  readonly path = '/ws/flows'
  readonly who = 'read'
  readonly frames = 'text'
  readonly #services: FlowsSocketServices
  readonly #now: () => number
  readonly #connections = new Map<Socket, Connection>()

  constructor(services: FlowsSocketServices) {
    this.#services = services
    this.#now = services.now_ms ?? (() => performance.now())
  }

  open(socket: Socket): void {
    const follower = this.#services.fanout.open(socket)
    this.#connections.set(socket, { follower, refusals: 0, window_ms: this.#now() })
    if (socket.caller.kind === 'panel') this.#services.panels?.opened(follower, socket.caller)
  }

  message(socket: Socket, text: string): void {
    const connection = this.#connections.get(socket)
    if (connection === undefined) return
    try {
      const frame = permitted(socket.caller, readFrame(text))
      if (frame.type === 'publish' && frame.durable === true) this.#publishDurably(connection, frame, text)
      else this.#handle(connection, frame)
    } catch (error) {
      this.#refuse(connection, text, error)
    }
  }

  drain(socket: Socket): void {
    this.#services.fanout.drained(socket)
    this.#services.logs.drained(socket)
  }

  close(socket: Socket): void {
    const connection = this.#connections.get(socket)
    if (connection !== undefined) this.#services.panels?.closed(connection.follower)
    this.#connections.delete(socket)
    this.#services.fanout.close(socket)
    this.#services.logs.closed(socket)
    this.#services.activity.unfollow(socket)
    this.#services.figures.closed(socket)
  }

  #handle(connection: Connection, frame: Frame): void {
    switch (frame.type) {
      case 'publish':
        return this.#publish(connection, frame)
      case 'subscribe':
        return this.#subscribe(connection, frame)
      case 'unsubscribe':
        return this.#unsubscribe(connection, frame)
      case 'have':
        return this.#have(connection, frame)
      case 'media':
        return this.#media(connection, frame)
      case 'figures':
        return this.#figures(connection, frame)
      case 'follow_logs':
        return this.#services.logs.follow(connection.follower.socket, frame.run, frame.after ?? 0)
      case 'unfollow_logs':
        return this.#services.logs.unfollow(connection.follower.socket, frame.run)
      case 'follow_activity':
        return this.#services.activity.follow(connection.follower.socket, frame.nodes_of ?? null)
      case 'unfollow_activity':
        return this.#services.activity.unfollow(connection.follower.socket)
    }
  }

  #publish({ follower }: Connection, frame: Publish): void {
    const [published] = this.#services.messages.publish([frame])
    this.#acknowledge(follower, frame, published!.version)
  }

  /** Others are answered meanwhile. Nobody is, when the connection has gone. */
  #publishDurably(connection: Connection, frame: Publish, text: string): void {
    const { socket } = connection.follower
    const isHere = (): boolean => this.#connections.get(socket) === connection
    this.#services.messages.publishDurably([frame]).then(
      ([published]) => {
        if (isHere()) this.#acknowledge(connection.follower, frame, published!.version)
      },
      error => {
        if (isHere()) this.#refuse(connection, text, error)
      },
    )
  }

  #acknowledge(follower: Follower, frame: Publish, version: number): void {
    const id = typeof frame.id === 'number' ? String(frame.id) : JSON.stringify(frame.id)
    this.#answer(follower.socket, `{"type":"ack","id":${id},"version":${version}}`)
  }

  /** All of it, or nothing: an unknown name leaves the socket as it was. Of a screen, it may be that of a message that comes later. */
  #subscribe({ follower }: Connection, frame: Subscribe): void {
    const { fanout, directory, panels } = this.#services
    const isScreen = follower.socket.caller.kind === 'panel'
    const there = isScreen ? (frame.names ?? []).filter(name => directory.indexOf(name) !== -1) : (frame.names ?? [])
    const names = there.map(name => this.#indexOf(name))
    const flows = frame.flows ?? []
    const added = new Set(names.filter(message => !follower.follows(message)))
    for (const flow of flows) {
      const messages = directory.messagesOf(flow)
      if (messages === null) throw new ServiceError('flow_not_found', `There is no flow ${flow}.`)
      for (const message of messages) if (!follower.follows(message)) added.add(message)
    }
    this.#checkRoom(follower, added.size)
    if (follower.flows.size + flows.length > limits.SOCKET_NAMES) this.#checkRoom(follower, limits.SOCKET_NAMES)
    for (const message of names) fanout.followName(follower, message, 'asked')
    for (const flow of flows) fanout.followFlow(follower, flow)
    if (frame.events === true) fanout.followEvents(follower)
    this.#tellSubscribed(follower)
    if (isScreen) panels?.asked(follower, frame.names ?? [])
  }

  /** What is not followed is not refused: the names may have gone in the meantime. */
  #unsubscribe({ follower }: Connection, frame: Unsubscribe): void {
    const { fanout, directory } = this.#services
    for (const name of frame.names ?? []) {
      const message = directory.indexOf(name)
      if (message !== -1) fanout.unfollowName(follower, message)
    }
    for (const flow of frame.flows ?? []) fanout.unfollowFlow(follower, flow)
    if (frame.events === true) fanout.unfollowEvents(follower)
    this.#services.panels?.unasked(follower, frame.names ?? [])
    this.#tellSubscribed(follower)
  }

  /** Follows the names, from the versions that the client holds. Names that are gone are left out of the answer. */
  #have({ follower }: Connection, frame: Have): void {
    const { fanout, directory } = this.#services
    const versions: [message: number, version: number][] = []
    for (const name in frame.versions) {
      const message = directory.indexOf(name)
      if (message !== -1) versions.push([message, frame.versions[name]!])
    }
    this.#checkRoom(follower, versions.filter(([message]) => !follower.follows(message)).length)
    for (const [message, version] of versions) fanout.followName(follower, message, 'resumed', version)
    this.#tellSubscribed(follower)
    this.#services.panels?.asked(follower, Object.keys(frame.versions))
  }

  /** The names that have frames stand, in place of those of before; the others are told. */
  #media(connection: Connection, { names }: MediaNames): void {
    const { follower } = connection
    const { fanout, directory } = this.#services
    const messages = new Set<number>()
    const errors: ErrorPlace[] = []
    for (const name of names) {
      const message = directory.indexOf(name)
      if (message === -1) errors.push({ loc: name, msg: 'there is no message of this name' })
      else if (!directory.isMedia(message)) errors.push({ loc: name, msg: 'is not image, audio, video or artifact' })
      else messages.add(message)
    }
    this.#checkRoom(follower, [...messages].filter(message => !follower.follows(message)).length)
    fanout.setMedia(follower, messages)
    const standing = [...messages].map(message => directory.nameOf(message))
    this.#answer(follower.socket, JSON.stringify({ type: 'media', names: standing }))
    this.#services.panels?.askedMedia(follower, names)
    if (errors.length === 0) return
    this.#refuse(connection, '', refusalOf('no_media', 'These names have no frames:', errors))
  }

  /** The flows that there are stand, in place of those of before; the others are told. */
  #figures(connection: Connection, { flows = [], engine = false }: FiguresOf): void {
    const { socket } = connection.follower
    const { flows: standing, unknown } = this.#services.figures.follow(socket, flows, engine)
    this.#answer(socket, JSON.stringify({ type: 'figures', flows: standing, engine }))
    if (unknown.length === 0) return
    this.#refuse(connection, '', refusalOf('flow_not_found', 'There are no flows of these names:', unknown))
  }

  #indexOf(name: string): number {
    const message = this.#services.directory.indexOf(name)
    if (message === -1) throw new ServiceError('message_not_found', `There is no message ${name}.`)
    return message
  }

  #checkRoom(follower: Follower, added: number): void {
    if (follower.followed + added > limits.SOCKET_NAMES)
      throw new ServiceError('too_large', `A connection follows at most ${limits.SOCKET_NAMES} messages.`)
  }

  #tellSubscribed(follower: Follower): void {
    const { directory } = this.#services
    const names = [...follower.names.keys()].map(message => directory.nameOf(message))
    const frame = { type: 'subscribed', names, flows: [...follower.flows], events: follower.events }
    this.#answer(follower.socket, JSON.stringify(frame))
  }

  #refuse(connection: Connection, text: string, error: unknown): void {
    if (!(error instanceof ServiceError)) this.#services.onDefect(error)
    const told = toldTo(connection.follower.socket.caller, error)
    const refusal = told instanceof ServiceError ? told : new ServiceError('internal')
    const id = idOf(text)
    const { socket } = connection.follower
    const frame = {
      type: 'error',
      ...(id === null ? null : { id }),
      problem: refusal.toJSON(),
      ...(refusal.retry_after_s === null ? null : { retry_after_s: refusal.retry_after_s }),
    }
    this.#answer(socket, JSON.stringify(frame))
    // The library takes an unmasked frame for a masked one, and gives us noise. What is no JSON came from no client of this protocol.
    if (refusal.code === 'malformed_json') return this.#cutOff(socket, 1007, 'a frame is one masked text of JSON')
    // A full flow is not the client's mistake.
    if (refusal.status >= 500) return
    const now_ms = this.#now()
    if (now_ms - connection.window_ms >= limits.SOCKET_ERRORS_MS) {
      connection.window_ms = now_ms
      connection.refusals = 0
    }
    if (++connection.refusals > limits.SOCKET_ERRORS)
      this.#cutOff(
        socket,
        1008,
        `more than ${limits.SOCKET_ERRORS} refused frames in ${limits.SOCKET_ERRORS_MS / 1000} s`,
      )
  }

  /** An answer is never left out; a client that reads none of them is cut off before its buffer is full. */
  #answer(socket: Socket, text: string): void {
    if (socket.send(text) === 'sent') return
    if (socket.isOpen && socket.bufferedAmount() > limits.SOCKET_UNREAD_BYTES)
      this.#cutOff(socket, 1013, 'this connection does not read its answers')
  }

  /** Frames that are on their way already are not answered any more. */
  #cutOff(socket: Socket, code: number, reason: string): void {
    this.close(socket)
    socket.end(code, reason)
  }
}

/** Names the first ones in its text, and more of them as places. */
function refusalOf(code: ErrorCode, text: string, errors: readonly ErrorPlace[]): ServiceError {
  const shown = errors.slice(0, NAMES_SHOWN).map(({ loc }) => loc)
  const more = errors.length > NAMES_SHOWN ? ` and ${errors.length - NAMES_SHOWN} more` : ''
  return new ServiceError(code, `${text} ${shown.join(', ')}${more}.`, { errors: errors.slice(0, limits.ERROR_PLACES) })
}
