import { ServiceError } from '../../protocol/errors.ts'
import { SCOPES_OF } from '../../protocol/words/scopes.ts'
import type { Caller } from '../../server/auth/principal.ts'
import { FigureFeed } from '../../server/fanout/figures/feed.ts'
import { LogFollowers } from '../../server/fanout/log-followers.ts'
import { ActivityFollowers } from '../../server/fanout/sockets/activity-followers.ts'
import type { Publisher, Socket } from '../../server/http/socket.ts'
import { mediaFrameOf } from './flows-client.ts'

/** A front in memory: topics, and sockets whose client can stop reading. */
export class FrontDouble implements Publisher {
  readonly #sockets = new Set<SocketDouble>()
  #ids = 0

  connect(superuser = false): SocketDouble {
    const role = superuser ? 'superuser' : 'editor'
    return this.connectAs({ kind: 'user', name: 'ada', actor: 'ada', role, superuser, scopes: SCOPES_OF[role] })
  }

  connectAs(caller: Caller): SocketDouble {
    const socket = new SocketDouble(++this.#ids, () => this.#sockets.delete(socket), caller)
    this.#sockets.add(socket)
    return socket
  }

  publish(topic: string, text: string): boolean {
    let anybody = false
    for (const socket of this.#sockets) {
      if (!socket.topics.has(topic)) continue
      anybody = true
      socket.send(text)
    }
    return anybody
  }

  publishBinary(topic: string, bytes: Uint8Array): boolean {
    let anybody = false
    for (const socket of this.#sockets) {
      if (!socket.topics.has(topic)) continue
      anybody = true
      socket.sendBinary(bytes)
    }
    return anybody
  }

  subscribers(topic: string): number {
    return [...this.#sockets].filter(socket => socket.topics.has(topic)).length
  }
}

export class SocketDouble implements Socket {
  readonly id: number
  readonly caller: Caller
  readonly topics = new Set<string>()
  /** Frames that the client has read. */
  readonly received: Record<string, unknown>[] = []
  readonly #waiting: string[] = []
  readonly #left: () => void
  isOpen = true
  /** The client reads nothing while this is false. */
  reads = true
  ended: { code: number; reason: string } | null = null

  constructor(id: number, left: () => void, caller: Caller) {
    this.id = id
    this.caller = caller
    this.#left = left
  }

  send(text: string | Uint8Array): 'sent' | 'queued' | 'dropped' {
    if (!this.isOpen) return 'dropped'
    if (this.reads) this.received.push(JSON.parse(text as string))
    else this.#waiting.push(text as string)
    return this.reads ? 'sent' : 'queued'
  }

  /** Media frames, as the client reads them. */
  sendBinary(bytes: Uint8Array): 'sent' | 'queued' | 'dropped' {
    return this.send(JSON.stringify({ ...mediaFrameOf(Buffer.from(bytes)), bytes: null }))
  }

  subscribe(topic: string): boolean {
    if (this.isOpen) this.topics.add(topic)
    return this.isOpen
  }

  unsubscribe(topic: string): boolean {
    return this.topics.delete(topic)
  }

  bufferedAmount(): number {
    return this.#waiting.reduce((bytes, text) => bytes + text.length, 0)
  }

  /** Frames that were sent and not read. */
  get unread(): number {
    return this.#waiting.length
  }

  cork(work: () => void): void {
    work()
  }

  end(code: number, reason: string): void {
    this.ended ??= { code, reason }
    this.isOpen = false
    this.topics.clear()
    this.#left()
  }

  /** The client reads what waits (at most `frames` of it). Whoever calls it tells the fan-out that the socket drained. */
  read(frames = Number.POSITIVE_INFINITY): void {
    this.reads = frames === Number.POSITIVE_INFINITY
    for (let count = 0; count < frames && this.#waiting.length > 0; count++)
      this.received.push(JSON.parse(this.#waiting.shift()!))
  }

  /** The values of one message, as the client has them. */
  values(name: string): { version: number; value: unknown; missed: number }[] {
    return this.received
      .filter(frame => frame['type'] === 'message_value' && frame['name'] === name)
      .map(frame => ({
        version: frame['version'] as number,
        value: frame['value'],
        missed: (frame['missed'] as number | undefined) ?? 0,
      }))
  }

  frames(type: string): Record<string, unknown>[] {
    return this.received.filter(frame => frame['type'] === type)
  }
}

const unasked = (): never => {
  throw new RangeError('nobody follows a flow')
}

/** Figures where there is no flow. */
export const noFigures = (): FigureFeed =>
  new FigureFeed({
    source: { hasFlow: () => false, flow: unasked, engine: unasked },
    onDefect: error => {
      throw error
    },
  })

/** Logs of runs where there is no run. */
export const noLogs = (): LogFollowers =>
  new LogFollowers(
    { page: async ({ run }) => Promise.reject(new ServiceError('run_not_found', `There is no run ${run}.`)) },
    error => {
      throw error
    },
  )

/** Figures of flows where there is no flow. */
export const noActivity = (): ActivityFollowers =>
  new ActivityFollowers(
    {
      engine: () => ({ type: 'activity', ts: '', per_s: 0, cascades: { in_flight: 0, limit: 1 } }),
      flows: () => [],
      line: () => [],
      hasNewLines: false,
      hasFlow: () => false,
      nodes: () => [],
    },
    error => {
      throw error
    },
  )
