import { type EncodedValue, KIND } from '../../core/memory/encoded.ts'
import { ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import type { EngineEvent } from '../../protocol/nouns/event.ts'
import type { Publisher, Socket } from '../http/socket.ts'
import { EventFanout } from './event-fanout.ts'
import { Follower, missedBefore, newcomerSince } from './follower.ts'
import { SlowSockets } from './slow-sockets.ts'
import { type ValueDecoder, ValueText } from './value-text.ts'

/** A value as the message table gives it. */
export interface NewestValue extends EncodedValue {
  version: number
  ts: number
}

/** What fan-out reads of the message table. */
export interface NewestValues {
  /** 0 while it has no value. */
  version(message: number): number
  /** Copies the newest value; false while there is none. */
  read(message: number, out: NewestValue): boolean
}

/** Names and indexes of the messages that exist now. */
export interface MessageDirectory {
  /** -1 when no message has this name. */
  indexOf(name: string): number
  nameOf(message: number): string
  /** Null when no flow has this name. */
  messagesOf(flow: string): readonly number[] | null
}

export interface FanoutOptions {
  values: NewestValues
  directory: MessageDirectory
  decoder: ValueDecoder
  /** Scratch for one value; nobody else uses it. */
  scratch: NewestValue
  /** An error that no user caused; it goes to the log. */
  onDefect: (error: unknown) => void
  /** Milliseconds of a steady clock. */
  now_ms?: () => number
  messages?: number
  slow_bytes?: number
  sweep_ms?: number
  stalled_ms?: number
  slice_ms?: number
}

/** Counted since the start; `dropped` is a defect whenever it is not 0. */
export interface FanoutCounts {
  followers: number
  slow: number
  /** Values that went out on a topic. */
  published: number
  /** Values sent to one socket: newcomers, and slow sockets catching up. */
  sent: number
  /** Values of followed names that came too late to be sent, or were lost to the journal's lapping. */
  skipped: number
  dropped: number
  slowed: number
  stalled: number
}

/**
 * `no`: nobody wants it, or it is older than one that was sent. `yes`: the next one. `gap`: values before it have not passed;
 * another journal ring may hold them.
 */
export const ACCEPT = { no: 0, yes: 1, gap: 2 } as const
export type Acceptance = (typeof ACCEPT)[keyof typeof ACCEPT]

/** Before the front is there, nobody is. */
const NOBODY: Publisher = { publish: () => false, publishBinary: () => false, subscribers: () => 0 }
/** From here on, writes cost more than turns of the event loop. */
const WIDE_SOCKETS = 8
/** How many of many names an answer spells out. */
const NAMES_SHOWN = 20
/** How often the clock is looked at while a socket is brought up to date. */
const LOOK_EVERY = 16

/**
 * Values to sockets. A value is encoded once and published once, on the topic of its message; what differs between sockets
 * (a newcomer's first value, a slow socket's newest ones) goes to the one socket. The rule that holds all of it together:
 *
 *   `#passed[message]` is the newest version that passed the fan-out, and every socket that is live on the message has it.
 *
 * So the gap between a value and `#passed` is what those sockets missed, an older value is never sent after a newer one, and
 * a socket that was given a newer value from the message table waits beside the topic (`ahead`) until the journal is there.
 * The cost of a value that nobody follows is two array reads and a write.
 */
export class Fanout {
  #front: Publisher = NOBODY
  readonly #values: NewestValues
  readonly #directory: MessageDirectory
  readonly #text: ValueText
  readonly #scratch: NewestValue
  readonly #onDefect: (error: unknown) => void
  readonly #now: () => number
  readonly #slice_ms: number
  readonly #slow: SlowSockets

  /** Newest version that passed, by message index. */
  readonly #passed: Float64Array
  /** Sockets that stand live or ahead, by message index: values are decoded for them only. */
  readonly #active: Int32Array
  readonly #activeMessages = new Set<number>()
  /** Those that stand ahead, by message index. */
  readonly #ahead = new Map<number, Set<Follower>>()
  readonly #topics: string[] = []
  /** Of messages that were followed since they got their name. */
  readonly #names: (string | undefined)[] = []
  readonly #middles: (string | undefined)[] = []

  readonly #followers = new Map<Socket, Follower>()
  readonly #byFlow = new Map<string, Set<Follower>>()
  readonly #catchingUp: Follower[] = []
  #scheduled = false
  readonly #events = new EventFanout('events', () => true)
  /** Who signed in, and what was done to accounts: for superusers. */
  readonly #audit = new EventFanout('audit', ({ socket: { user } }) => user.kind === 'user' && user.superuser)

  #batch = 0
  #published = 0
  #sent = 0
  #skipped = 0
  #dropped = 0

  constructor(options: FanoutOptions) {
    this.#values = options.values
    this.#directory = options.directory
    this.#text = new ValueText(options.decoder)
    this.#scratch = options.scratch
    this.#onDefect = options.onDefect
    this.#now = options.now_ms ?? (() => performance.now())
    this.#slice_ms = options.slice_ms ?? limits.FRONT_SLICE_MS
    const messages = options.messages ?? limits.MESSAGES
    this.#passed = new Float64Array(messages)
    this.#active = new Int32Array(messages)
    this.#slow = new SlowSockets({
      followers: this.#followers,
      now_ms: this.#now,
      slow_bytes: options.slow_bytes ?? limits.SOCKET_SLOW_BYTES,
      sweep_ms: options.sweep_ms ?? limits.SOCKET_SWEEP_MS,
      stalled_ms: options.stalled_ms ?? limits.SOCKET_STALLED_MS,
      takeOff: follower => this.#takeOff(follower),
      giveUp: follower => this.close(follower.socket),
    })
  }

  /** The front is built with the handlers of its sockets, which are built with this: so it comes last. */
  attach(front: Publisher): void {
    this.#front = front
  }

  /** No socket is open. */
  get isAlone(): boolean {
    return this.#followers.size === 0
  }

  counts(): FanoutCounts {
    return {
      followers: this.#followers.size,
      slow: this.#slow.size,
      published: this.#published,
      sent: this.#sent,
      skipped: this.#skipped,
      dropped: this.#dropped,
      slowed: this.#slow.slowed,
      stalled: this.#slow.stalled,
    }
  }

  // ---------------------------------------------------------------- values, from the journal

  /**
   * The socket library writes what was published when the event loop comes round, one write for each socket, and before that
   * once `limits.SOCKET_BATCH` frames wait for a socket. Whoever publishes more than that in one turn splits the writes of every socket
   * in two. This counts the values of this turn that went to many sockets.
   */
  get batch(): number {
    return this.#batch
  }

  /** The event loop came round. */
  startBatch(): void {
    this.#batch = 0
  }

  /** What to do with a value from the journal. For most it is nothing, so this costs two reads and a write. */
  accept(message: number, version: number): Acceptance {
    const passed = this.#passed[message]!
    if (this.#active[message] === 0) {
      if (version > passed) this.#passed[message] = version
      return ACCEPT.no
    }
    if (version > passed) return version === passed + 1 ? ACCEPT.yes : ACCEPT.gap
    this.#skipped++
    return ACCEPT.no
  }

  /** One value from the journal; `bytes` are read before it returns. An older version than one that passed is left out. */
  value(
    message: number,
    version: number,
    ts: number,
    kind: number,
    number: number,
    bytes: Buffer,
    at: number,
    length: number,
  ): void {
    const before = this.#passed[message]!
    if (this.accept(message, version) === ACCEPT.no) return
    this.#passed[message] = version
    const value = this.#encode(kind, number, bytes, at, length)
    const middle = this.#middle(message)
    const text = this.#text.event(ts, middle, version, value, version - before - 1)
    this.#front.publish(this.#topic(message), text)
    this.#published++
    if (this.#active[message]! >= WIDE_SOCKETS) this.#batch++
    const ahead = this.#ahead.get(message)
    if (ahead !== undefined) this.#settle(message, ahead, ts, version, value)
    this.#slow.published(text.length)
  }

  /** The journal no longer holds a value of this message: its newest goes out instead, with the number that were missed. */
  refresh(message: number): void {
    if (this.#active[message] === 0 || this.#values.version(message) <= this.#passed[message]!) return
    const newest = this.#scratch
    if (!this.#values.read(message, newest)) return
    if (newest.kind === KIND.none) this.#passed[message] = newest.version
    else this.value(message, newest.version, newest.ts, newest.kind, newest.number, newest.bytes, 0, newest.length)
  }

  /** Records were lost to lapping and the rings are drained: every followed message whose newest value was among them. */
  refreshAll(): void {
    for (const message of this.#activeMessages) this.refresh(message)
  }

  // ---------------------------------------------------------------- what a socket follows

  open(socket: Socket): Follower {
    const follower = new Follower(socket)
    this.#followers.set(socket, follower)
    return follower
  }

  close(socket: Socket): void {
    const follower = this.#followers.get(socket)
    if (follower === undefined) return
    this.#followers.delete(socket)
    this.#slow.forget(follower)
    follower.move('gone')
    for (const message of follower.live) this.#deactivate(message)
    for (const message of follower.ahead.keys()) this.#leaveAhead(follower, message)
    for (const flow of follower.flows) this.#leaveFlow(follower, flow)
    follower.live.clear()
    follower.ahead.clear()
    follower.behind.clear()
  }

  of(socket: Socket): Follower | undefined {
    return this.#followers.get(socket)
  }

  /** By name. `held`: the version that the client says it holds; only newer values are sent. */
  followName(follower: Follower, message: number, how: 'asked' | 'resumed', held: number | null = null): void {
    if (follower.names.get(message) !== 'asked') follower.names.set(message, how)
    this.#follow(follower, message, held)
  }

  /** Every message of the flow, also those that it gets later. */
  followFlow(follower: Follower, flow: string): void {
    if (!follower.flows.has(flow)) {
      follower.flows.add(flow)
      const followers = this.#byFlow.get(flow)
      if (followers === undefined) this.#byFlow.set(flow, new Set([follower]))
      else followers.add(follower)
    }
    for (const message of this.#directory.messagesOf(flow) ?? []) this.#follow(follower, message, null)
  }

  unfollowName(follower: Follower, message: number): void {
    if (!follower.names.delete(message)) return
    if (!this.#flowCovers(follower, message)) this.#unfollow(follower, message)
  }

  unfollowFlow(follower: Follower, flow: string): void {
    if (!follower.flows.delete(flow)) return
    this.#leaveFlow(follower, flow)
    for (const message of this.#directory.messagesOf(flow) ?? []) {
      if (follower.names.get(message) === 'resumed') follower.names.delete(message)
      if (!follower.names.has(message)) this.#unfollow(follower, message)
    }
  }

  followEvents(follower: Follower): void {
    this.#events.join(follower)
    this.#audit.join(follower)
    follower.events = true
  }

  unfollowEvents(follower: Follower): void {
    this.#events.leave(follower)
    this.#audit.leave(follower)
    follower.events = false
  }

  // ---------------------------------------------------------------- changes of the engine

  /** An engine event for those that asked for events. Values of messages never come this way. */
  event(event: EngineEvent): void {
    const fanout = event.type === 'audit' ? this.#audit : this.#events
    const bytes = fanout.publish(this.#front, event)
    if (bytes > 0) this.#slow.published(bytes)
  }

  /**
   * The flow was saved, renamed or deleted. `removed`: indexes of messages that are gone under their names; nobody follows
   * them any more, and whoever did so by name is told. New messages of the flow join its followers.
   */
  flowChanged(flow: string, removed: readonly number[]): void {
    if (removed.length > 0) {
      for (const follower of this.#followers.values()) {
        const named = removed.filter(message => follower.names.delete(message))
        for (const message of removed) this.#unfollow(follower, message)
        if (named.length > 0) this.#tellRemoved(follower, named)
      }
      // The index may come back under another name.
      for (const message of removed) this.#names[message] = this.#middles[message] = undefined
    }
    for (const message of this.#directory.messagesOf(flow) ?? []) this.#passCleared(message)
    for (const follower of this.#byFlow.get(flow) ?? []) this.followFlow(follower, flow)
  }

  #tellRemoved(follower: Follower, messages: readonly number[]): void {
    const shown = messages.slice(0, NAMES_SHOWN).map(message => this.#names[message])
    const rest = messages.length > NAMES_SHOWN ? ` and ${messages.length - NAMES_SHOWN} more` : ''
    const problem = new ServiceError(
      'message_not_found',
      `Removed, and no longer followed: ${shown.join(', ')}${rest}.`,
    )
    this.#send(follower, JSON.stringify({ type: 'error', problem }))
  }

  /** A message whose dtype changed is emptied under a version of its own, which no journal carries: nobody missed it. */
  #passCleared(message: number): void {
    if (this.#active[message] === 0 || this.#values.version(message) <= this.#passed[message]!) return
    const newest = this.#scratch
    if (this.#values.read(message, newest) && newest.kind === KIND.none) this.#passed[message] = newest.version
  }

  // ---------------------------------------------------------------- slow sockets

  /** The buffer of this socket shrank. */
  drained(socket: Socket): void {
    const follower = this.#followers.get(socket)
    if (follower === undefined || follower.mode !== 'slow') return
    follower.progress_ms = this.#now()
    if (socket.bufferedAmount() > 0) return
    this.#slow.recovered(follower)
    this.#schedule(follower)
  }

  /** Off all topics; each name is owed the newest value from now on. About 0.3 us a name. */
  #takeOff(follower: Follower): void {
    for (const message of follower.live) {
      follower.socket.unsubscribe(this.#topic(message))
      this.#deactivate(message)
      follower.behind.set(message, this.#passed[message]!)
    }
    follower.live.clear()
    for (const [message, version] of follower.ahead) {
      this.#leaveAhead(follower, message)
      follower.behind.set(message, version)
    }
    follower.ahead.clear()
    this.#events.takeOff(follower)
    this.#audit.takeOff(follower)
  }

  // ---------------------------------------------------------------- bringing a socket up to date

  /** In a later phase of this turn of the event loop, so that a `have` that came with a `subscribe` counts. */
  #schedule(follower: Follower): void {
    if (!follower.queued) {
      follower.queued = true
      this.#catchingUp.push(follower)
    }
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => this.#catchUp())
  }

  /** Those that are owed something, in turn, for at most a slice of time. */
  #catchUp(): void {
    this.#scheduled = false
    const until = this.#now() + this.#slice_ms
    const again: Follower[] = []
    let settled = false
    while (this.#catchingUp.length > 0 && this.#now() < until) {
      const follower = this.#catchingUp.shift()!
      follower.queued = false
      if (follower.mode !== 'ready') continue
      const owed = follower.behind.size
      follower.socket.cork(() => this.#serve(follower, until))
      if (follower.behind.size < owed) settled = true
      if (follower.mode === 'ready' && follower.behind.size > 0) again.push(follower)
    }
    for (const follower of again) {
      follower.queued = true
      this.#catchingUp.push(follower)
    }
    if (this.#catchingUp.length === 0) return
    this.#scheduled = true
    // Nothing settled: the message table is an instant behind the journal. No reason to spin until it is not.
    if (settled) setImmediate(() => this.#catchUp())
    else setTimeout(() => this.#catchUp(), 1)
  }

  #serve(follower: Follower, until: number): void {
    const send = (text: string): void => this.#send(follower, text)
    this.#events.bringBack(follower, send)
    this.#audit.bringBack(follower, send)
    let served = 0
    for (const [message, has] of follower.behind) {
      if (++served % LOOK_EVERY === 0 && this.#now() >= until) return
      this.#join(follower, message, this.#sendNewest(follower, message, has))
      if (!this.#slow.isOver(follower)) continue
      this.#slow.slowDown(follower)
      return
    }
    follower.look_at = 0
  }

  /** Sends the newest value if the socket has not got it; answers the version that it has then. */
  #sendNewest(follower: Follower, message: number, has: number): number {
    const values = this.#values
    const newest = this.#scratch
    if (values.version(message) <= has || !values.read(message, newest)) return Math.max(has, 0)
    if (newest.kind === KIND.none) return newest.version
    const value = this.#encode(newest.kind, newest.number, newest.bytes, 0, newest.length)
    this.#sendValue(follower, message, newest.ts, newest.version, value, has)
    return newest.version
  }

  #sendValue(follower: Follower, message: number, ts: number, version: number, value: string, has: number): void {
    this.#send(follower, this.#text.event(ts, this.#middle(message), version, value, missedBefore(version, has)))
    this.#sent++
  }

  /** From `behind` to where a socket stands that has got version `got`. */
  #join(follower: Follower, message: number, got: number): void {
    // With nobody live, nobody loses anything when the journal's values up to this one are left out.
    if (this.#active[message] === 0 && got > this.#passed[message]!) this.#passed[message] = got
    const passed = this.#passed[message]!
    if (got < passed) {
      // The journal shows a value an instant before the message table does: look again in the next turn.
      follower.behind.set(message, got)
      return
    }
    follower.behind.delete(message)
    if (this.#active[message]!++ === 0) this.#activeMessages.add(message)
    if (got === passed) this.#goLive(follower, message)
    else {
      follower.ahead.set(message, got)
      const ahead = this.#ahead.get(message)
      if (ahead === undefined) this.#ahead.set(message, new Set([follower]))
      else ahead.add(follower)
    }
  }

  #goLive(follower: Follower, message: number): void {
    follower.live.add(message)
    follower.socket.subscribe(this.#topic(message))
  }

  /** A value was published: those ahead that it does not surpass go live, those that it does get it first. */
  #settle(message: number, ahead: Set<Follower>, ts: number, version: number, value: string): void {
    for (const follower of ahead) {
      const has = follower.ahead.get(message)!
      if (has > version) continue
      if (has < version) this.#sendValue(follower, message, ts, version, value, has)
      ahead.delete(follower)
      follower.ahead.delete(message)
      this.#goLive(follower, message)
    }
    if (ahead.size === 0) this.#ahead.delete(message)
  }

  /** Only the codec writes values, so one that it cannot read is a defect; its followers get null in its place. */
  #encode(kind: number, number: number, bytes: Buffer, at: number, length: number): string {
    try {
      return this.#text.value(kind, number, bytes, at, length)
    } catch (error) {
      this.#onDefect(error)
      return 'null'
    }
  }

  #send(follower: Follower, text: string): void {
    if (follower.socket.send(text) === 'dropped' && follower.socket.isOpen) this.#dropped++
  }

  // ---------------------------------------------------------------- books

  #follow(follower: Follower, message: number, held: number | null): void {
    if (follower.live.has(message) || follower.ahead.has(message)) return
    const newest = Math.max(this.#values.version(message), this.#passed[message]!)
    const has = follower.behind.get(message)
    // A client may hold versions that a crash took from the engine: then it is a newcomer.
    if (held !== null && held <= newest && (has === undefined || has < 0)) follower.behind.set(message, held)
    else if (has === undefined) follower.behind.set(message, newcomerSince(newest))
    this.#names[message] ??= this.#directory.nameOf(message)
    if (follower.mode === 'ready') this.#schedule(follower)
  }

  #unfollow(follower: Follower, message: number): void {
    if (follower.behind.delete(message)) return
    if (follower.ahead.has(message)) {
      this.#leaveAhead(follower, message)
      follower.ahead.delete(message)
    } else if (follower.live.delete(message)) {
      follower.socket.unsubscribe(this.#topic(message))
      this.#deactivate(message)
    }
  }

  #flowCovers(follower: Follower, message: number): boolean {
    if (follower.flows.size === 0) return false
    const name = this.#directory.nameOf(message)
    return follower.flows.has(name.slice(0, name.indexOf('.')))
  }

  #deactivate(message: number): void {
    if (--this.#active[message]! === 0) this.#activeMessages.delete(message)
  }

  /** Leaves the entry in `follower.ahead` to the caller, who may be walking it. */
  #leaveAhead(follower: Follower, message: number): void {
    const ahead = this.#ahead.get(message)
    if (ahead?.delete(follower) && ahead.size === 0) this.#ahead.delete(message)
    this.#deactivate(message)
  }

  #leaveFlow(follower: Follower, flow: string): void {
    const followers = this.#byFlow.get(flow)
    if (followers?.delete(follower) && followers.size === 0) this.#byFlow.delete(flow)
  }

  #topic(message: number): string {
    return (this.#topics[message] ??= `m${message}`)
  }

  #middle(message: number): string {
    return (this.#middles[message] ??= ValueText.middle(this.#names[message] ?? this.#directory.nameOf(message)))
  }
}
