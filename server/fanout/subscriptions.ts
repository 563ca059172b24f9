import type { Socket } from '../http/socket.ts'
import type { CatchUp } from './catch-up.ts'
import { Follower, newcomerSince } from './follower.ts'
import type { NewestValues } from './passing-value.ts'
import type { Standing } from './standing.ts'
import type { MessageDirectory, Topics } from './topics.ts'

interface SubscriptionsParts {
  /** Of all open sockets. */
  followers: Map<Socket, Follower>
  values: NewestValues
  directory: MessageDirectory
  topics: Topics
  standing: Standing
  catchUp: CatchUp
}

/** Who asked for which names and flows. A flow covers its messages, also those that it gets later. */
export class Subscriptions {
  readonly #followers: Map<Socket, Follower>
  readonly #values: NewestValues
  readonly #directory: MessageDirectory
  readonly #topics: Topics
  readonly #standing: Standing
  readonly #catchUp: CatchUp
  readonly #byFlow = new Map<string, Set<Follower>>()

  constructor(parts: SubscriptionsParts) {
    this.#followers = parts.followers
    this.#values = parts.values
    this.#directory = parts.directory
    this.#topics = parts.topics
    this.#standing = parts.standing
    this.#catchUp = parts.catchUp
  }

  open(socket: Socket): Follower {
    const follower = new Follower(socket)
    this.#followers.set(socket, follower)
    return follower
  }

  /** The follower is gone, with all that it followed. */
  close(follower: Follower): void {
    this.#standing.forget(follower)
    for (const flow of follower.flows) this.#leaveFlow(follower, flow)
  }

  /** `held`: the version that the client says it holds; only newer values are sent. */
  followName(follower: Follower, message: number, how: 'asked' | 'resumed', held: number | null): void {
    if (follower.names.get(message) !== 'asked') follower.names.set(message, how)
    this.#follow(follower, message, held)
  }

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
    if (!this.#covers(follower, message)) this.#standing.leave(follower, message)
  }

  unfollowFlow(follower: Follower, flow: string): void {
    if (!follower.flows.delete(flow)) return
    this.#leaveFlow(follower, flow)
    for (const message of this.#directory.messagesOf(flow) ?? []) {
      if (follower.names.get(message) === 'resumed') follower.names.delete(message)
      if (!follower.names.has(message) && !follower.media.has(message)) this.#standing.leave(follower, message)
    }
  }

  /** These and no others: their frames come from now on, just ahead of their values; of what is here already the present frame. */
  setMedia(follower: Follower, messages: ReadonlySet<number>): void {
    for (const message of follower.media) {
      if (messages.has(message)) continue
      if (follower.live.has(message)) this.#standing.leaveMedia(follower, message)
      follower.media.delete(message)
      follower.frames_owed.delete(message)
      if (!this.#covers(follower, message) && !follower.names.has(message)) this.#standing.leave(follower, message)
    }
    for (const message of messages) {
      if (follower.media.has(message)) continue
      follower.media.add(message)
      if (follower.live.has(message)) this.#standing.joinMedia(follower, message)
      this.#standing.oweFrame(follower, message)
      if (follower.live.has(message) || follower.ahead.has(message)) this.#catchUp.schedule(follower)
      else this.#follow(follower, message, null)
    }
  }

  /** The messages are gone: nobody follows them any more. `tell` is called for each who did so by name. */
  remove(messages: readonly number[], tell: (follower: Follower, named: readonly number[]) => void): void {
    for (const follower of this.#followers.values()) {
      const named = messages.filter(message => follower.names.delete(message) || follower.media.has(message))
      for (const message of messages) {
        this.#standing.leave(follower, message)
        follower.media.delete(message)
        follower.frames_owed.delete(message)
      }
      if (named.length > 0) tell(follower, named)
    }
  }

  /** New messages of the flow join its followers. */
  followNewOf(flow: string): void {
    for (const follower of this.#byFlow.get(flow) ?? []) this.followFlow(follower, flow)
  }

  #follow(follower: Follower, message: number, held: number | null): void {
    if (follower.live.has(message) || follower.ahead.has(message)) return
    const newest = Math.max(this.#values.version(message), this.#standing.passed[message]!)
    const has = follower.behind.get(message)
    // A client may hold versions that a crash took from the engine: then it is a newcomer.
    if (held !== null && held <= newest && (has === undefined || has < 0)) follower.behind.set(message, held)
    else if (has === undefined) follower.behind.set(message, newcomerSince(newest))
    this.#topics.keepName(message)
    if (follower.mode === 'ready') this.#catchUp.schedule(follower)
  }

  /** Something other than its name asks for the message. */
  #covers(follower: Follower, message: number): boolean {
    return follower.media.has(message) || this.#flowCovers(follower, message)
  }

  #flowCovers(follower: Follower, message: number): boolean {
    if (follower.flows.size === 0) return false
    const name = this.#directory.nameOf(message)
    return follower.flows.has(name.slice(0, name.indexOf('.')))
  }

  #leaveFlow(follower: Follower, flow: string): void {
    const followers = this.#byFlow.get(flow)
    if (followers?.delete(follower) && followers.size === 0) this.#byFlow.delete(flow)
  }
}
