import { KIND } from '../../core/memory/encoded.ts'
import { ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import type { EngineEvent } from '../../protocol/nouns/event.ts'
import { mayDo } from '../auth/principal.ts'
import type { Publisher, Socket } from '../http/socket.ts'
import { CatchUp } from './catch-up.ts'
import { EventFanout } from './event-fanout.ts'
import type { Follower } from './follower.ts'
import type { HeldText } from './held-text.ts'
import { Media, type MediaCounts } from './media.ts'
import type { MediaBytes } from './media-frames.ts'
import type { NewestValue, NewestValues, PassingValue } from './passing-value.ts'
import { Sender } from './sender.ts'
import { SlowSockets } from './slow-sockets.ts'
import { Standing } from './standing.ts'
import { Subscriptions } from './subscriptions.ts'
import { type MessageDirectory, Topics } from './topics.ts'
import type { ValueDecoder } from './value-text.ts'

export interface FanoutOptions {
  values: NewestValues
  directory: MessageDirectory
  decoder: ValueDecoder
  /** Scratch for one value; nobody else uses it. */
  scratch: NewestValue
  /** The bytes behind references; absent: there are none. */
  media?: MediaBytes
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
  /** Media frames: those that went out, and values that went out as text only although somebody wanted their frames. */
  frames: number
  frames_skipped: number
}

/**
 * `no`: nobody wants it, or it is older than one that was sent. `yes`: the next one. `gap`: values before it have not passed;
 * another journal ring may hold them.
 */
export const ACCEPT = { no: 0, yes: 1, gap: 2 } as const
export type Acceptance = (typeof ACCEPT)[keyof typeof ACCEPT]

/** From here on, writes cost more than turns of the event loop. */
const WIDE_SOCKETS = 8
const NO_BYTES: MediaBytes = { size: () => -1, readInto: () => -1, load: () => Promise.resolve(null) }
/** How many of many names an answer spells out. */
const NAMES_SHOWN = 20

/**
 * Values to sockets. A value is encoded once and published once, on the topic of its message; what differs between sockets
 * (a newcomer's first value, a slow socket's newest ones) goes to the one socket. The rule that holds all of it together:
 *
 *   `#passed[message]` is the newest version that passed the fan-out, and every socket that is live on the message has it.
 *
 * So the gap between a value and `#passed` is what those sockets missed, an older value is never sent after a newer one, and
 * a socket that was given a newer value from the message table waits beside the topic (`ahead`) until the journal is there.
 * The cost of a value that nobody follows is two array reads and a write.
 *
 * Sockets that want the frames of media messages get them ahead of the texts (`Media`).
 *
 * Its parts: `Subscriptions` (who asked for what), `Standing` (where each socket is with each message), `CatchUp` (newcomers and
 * slow sockets get the newest), `SlowSockets` (finds those that do not keep up), `Sender` (writes it).
 */
export class Fanout {
  readonly #values: NewestValues
  readonly #directory: MessageDirectory
  readonly #scratch: NewestValue
  readonly #now: () => number
  readonly #topics: Topics
  readonly #standing: Standing
  /** Of `#standing`, beside it: they are read for each value of the journal. */
  readonly #passed: Float64Array
  readonly #active: Int32Array
  readonly #sender: Sender
  readonly #slow: SlowSockets
  readonly #media: Media
  readonly #catchUp: CatchUp
  readonly #subscriptions: Subscriptions
  readonly #followers = new Map<Socket, Follower>()
  readonly #events = new EventFanout('events', () => true)
  /** Who signed in, and what was done to accounts: for superusers. */
  readonly #audit = new EventFanout(
    'audit',
    ({ socket: { caller } }) => caller.kind !== 'worker' && mayDo(caller, 'admin'),
  )

  #batch = 0
  #skipped = 0

  constructor(options: FanoutOptions) {
    const { values, directory, decoder, scratch, onDefect } = options
    this.#values = values
    this.#directory = directory
    this.#scratch = scratch
    this.#now = options.now_ms ?? (() => performance.now())
    this.#topics = new Topics(directory)
    this.#standing = new Standing(options.messages ?? limits.MESSAGES, this.#topics)
    this.#passed = this.#standing.passed
    this.#active = this.#standing.active
    this.#sender = new Sender(this.#topics, decoder, onDefect)
    this.#slow = new SlowSockets({
      followers: this.#followers,
      now_ms: this.#now,
      slow_bytes: options.slow_bytes ?? limits.SOCKET_SLOW_BYTES,
      sweep_ms: options.sweep_ms ?? limits.SOCKET_SWEEP_MS,
      stalled_ms: options.stalled_ms ?? limits.SOCKET_STALLED_MS,
      takeOff: follower => this.#takeOff(follower),
      giveUp: follower => this.close(follower.socket),
    })
    this.#media = new Media({
      bytes: options.media ?? NO_BYTES,
      topics: this.#topics,
      standing: this.#standing,
      front: () => this.#sender.front,
      onDefect,
      publish: (text, frame) => this.#publish(text, frame),
    })
    this.#catchUp = new CatchUp({
      values,
      scratch,
      standing: this.#standing,
      sender: this.#sender,
      slow: this.#slow,
      media: this.#media,
      events: [this.#events, this.#audit],
      now_ms: this.#now,
      slice_ms: options.slice_ms ?? limits.FRONT_SLICE_MS,
    })
    this.#subscriptions = new Subscriptions({
      followers: this.#followers,
      values,
      directory,
      topics: this.#topics,
      standing: this.#standing,
      catchUp: this.#catchUp,
    })
  }

  /** The front is built with the handlers of its sockets, which are built with this: so it comes last. */
  attach(front: Publisher): void {
    this.#sender.front = front
  }

  /** No socket is open. */
  get isAlone(): boolean {
    return this.#followers.size === 0
  }

  /** Of each message whose frames were ever wanted. */
  *frameCounts(): Iterable<{ name: string; counts: MediaCounts }> {
    for (const [message, counts] of this.#media.counts) yield { name: this.#topics.name(message) ?? '', counts }
  }

  counts(): FanoutCounts {
    let [frames, frames_skipped] = [0, 0]
    for (const { sent, skipped } of this.#media.counts.values()) {
      frames += sent
      frames_skipped += skipped
    }
    return {
      frames,
      frames_skipped,
      followers: this.#followers.size,
      slow: this.#slow.size,
      published: this.#sender.published,
      sent: this.#sender.sent,
      skipped: this.#skipped,
      dropped: this.#sender.dropped,
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
    this.#media.startBatch()
  }

  /** What passed since is all of this batch: of each name the newest frame goes out. */
  endBatch(): void {
    this.#media.endBatch()
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

  /** One value from the journal, read before this returns. An older version than one that passed is left out. */
  value(value: PassingValue): void {
    const { subject: message, version } = value
    if (this.accept(message, version) === ACCEPT.no) return
    const { value_kind, number, bytes, start, length } = value
    this.#pass(message, version, value.ts, this.#sender.encode(value_kind, number, bytes, start, length))
  }

  /** The journal no longer holds a value of this message: its newest goes out instead, with the number that were missed. */
  refresh(message: number): void {
    if (this.#active[message] === 0 || this.#values.version(message) <= this.#passed[message]!) return
    const newest = this.#scratch
    if (!this.#values.read(message, newest)) return
    const { kind, number, bytes, length, version, ts } = newest
    if (kind === KIND.none) this.#passed[message] = version
    else this.#pass(message, version, ts, this.#sender.encode(kind, number, bytes, 0, length))
  }

  /** Records were lost to lapping and the rings are drained: every followed message whose newest value was among them. */
  refreshAll(): void {
    for (const message of this.#standing.activeMessages) this.refresh(message)
  }

  #pass(message: number, version: number, ts: number, value: string): void {
    const missed = version - this.#passed[message]! - 1
    this.#passed[message] = version
    const text = { message, version, ts, value, missed }
    if (this.#standing.wantsFrames(message)) return this.#media.hold(text)
    this.#media.release(message)
    this.#publish(text, null)
  }

  #publish({ message, version, ts, value, missed }: HeldText, frame: Buffer | null): void {
    const length = this.#sender.publish(message, ts, version, value, missed)
    if (this.#active[message]! >= WIDE_SOCKETS) this.#batch++
    const ahead = this.#standing.ahead.get(message)
    if (ahead !== undefined) this.#settle(message, ahead, ts, version, value, frame)
    if (frame === null) this.#slow.published(length)
    else this.#slow.publishedFrame(length + frame.length)
  }

  /** A value was published: those ahead that it does not surpass go live, those that it does get it first. */
  #settle(
    message: number,
    ahead: Set<Follower>,
    ts: number,
    version: number,
    value: string,
    frame: Buffer | null,
  ): void {
    for (const follower of ahead) {
      const has = follower.ahead.get(message)!
      if (has > version) continue
      if (has < version) {
        if (frame !== null && follower.media.has(message)) this.#media.send(follower, message, frame)
        this.#sender.sendValue(follower, message, ts, version, value, has)
      }
      ahead.delete(follower)
      follower.ahead.delete(message)
      this.#standing.goLive(follower, message)
    }
    if (ahead.size === 0) this.#standing.ahead.delete(message)
  }

  // ---------------------------------------------------------------- what a socket follows

  open(socket: Socket): Follower {
    return this.#subscriptions.open(socket)
  }

  close(socket: Socket): void {
    const follower = this.#followers.get(socket)
    if (follower === undefined) return
    this.#followers.delete(socket)
    this.#slow.forget(follower)
    follower.move('gone')
    this.#subscriptions.close(follower)
  }

  of(socket: Socket): Follower | undefined {
    return this.#followers.get(socket)
  }

  /** By name. `held`: the version that the client says it holds; only newer values are sent. */
  followName(follower: Follower, message: number, how: 'asked' | 'resumed', held: number | null = null): void {
    this.#subscriptions.followName(follower, message, how, held)
  }

  /** Every message of the flow, also those that it gets later. */
  followFlow(follower: Follower, flow: string): void {
    this.#subscriptions.followFlow(follower, flow)
  }

  /** The frames of these messages and no others; the messages are followed with them. */
  setMedia(follower: Follower, messages: ReadonlySet<number>): void {
    this.#subscriptions.setMedia(follower, messages)
  }

  unfollowName(follower: Follower, message: number): void {
    this.#subscriptions.unfollowName(follower, message)
  }

  unfollowFlow(follower: Follower, flow: string): void {
    this.#subscriptions.unfollowFlow(follower, flow)
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
    const bytes = fanout.publish(this.#sender.front, event)
    if (bytes > 0) this.#slow.published(bytes)
  }

  /**
   * The flow was saved, renamed or deleted. `removed`: indexes of messages that are gone under their names; nobody follows
   * them any more, and whoever did so by name is told. New messages of the flow join its followers.
   */
  flowChanged(flow: string, removed: readonly number[]): void {
    if (removed.length > 0) {
      this.#subscriptions.remove(removed, (follower, named) => this.#tellRemoved(follower, named))
      for (const message of removed) {
        this.#media.forget(message)
        this.#topics.forget(message)
      }
    }
    for (const message of this.#directory.messagesOf(flow) ?? []) this.#passCleared(message)
    this.#subscriptions.followNewOf(flow)
  }

  #tellRemoved(follower: Follower, messages: readonly number[]): void {
    const shown = messages.slice(0, NAMES_SHOWN).map(message => this.#topics.name(message))
    const rest = messages.length > NAMES_SHOWN ? ` and ${messages.length - NAMES_SHOWN} more` : ''
    const problem = new ServiceError(
      'message_not_found',
      `Removed, and no longer followed: ${shown.join(', ')}${rest}.`,
    )
    this.#sender.send(follower, JSON.stringify({ type: 'error', problem }))
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
    this.#catchUp.schedule(follower)
  }

  /** Off all topics: it is owed the newest values and the newest events from now on. */
  #takeOff(follower: Follower): void {
    this.#standing.takeOff(follower)
    this.#events.takeOff(follower)
    this.#audit.takeOff(follower)
  }
}
