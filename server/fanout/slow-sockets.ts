import { limits } from '../../protocol/limits.ts'
import type { Socket } from '../http/socket.ts'
import type { Follower } from './follower.ts'

interface SlowSocketsOptions {
  followers: ReadonlyMap<Socket, Follower>
  now_ms: () => number
  slow_bytes: number
  sweep_ms: number
  stalled_ms: number
  takeOff: (follower: Follower) => void
  /** It read nothing for `stalled_ms`: it has left all books when this returns. */
  giveUp: (follower: Follower) => void
}

/** Bytes that may be published between two sweeps; far below what the socket library would drop at. */
const SWEEP_BYTES = Math.floor(limits.SOCKET_BACKPRESSURE_BYTES / 16)
/** The same of media frames. A look after each of them would find every socket behind, before its turn of the event loop. */
const FRAME_SWEEP_BYTES = limits.SOCKET_SLOW_BYTES
const REASON = 'this connection reads nothing; connect again and send "have"'

/**
 * Finds the sockets that do not keep up, never while publishing but in a sweep, and closes those that read nothing at all.
 * A socket's buffer cannot pass the bound before as many bytes were published as it has room for, so a sweep asks the socket
 * library only about sockets that could be over; for the others it costs one comparison. Nothing runs while nothing is sent
 * and nobody is slow.
 */
export class SlowSockets {
  readonly #options: SlowSocketsOptions
  readonly #slow = new Set<Follower>()
  /** Bytes published since the start: a bound on what any one socket was sent. */
  #bytes = 0
  #swept_bytes = 0
  #timer: NodeJS.Timeout | null = null
  #due_ms = Number.POSITIVE_INFINITY
  slowed = 0
  stalled = 0

  constructor(options: SlowSocketsOptions) {
    this.#options = options
  }

  get size(): number {
    return this.#slow.size
  }

  published(bytes: number): void {
    this.#bytes += bytes
    if (this.#bytes - this.#swept_bytes > SWEEP_BYTES) this.#sweep()
    else if (this.#due_ms === Number.POSITIVE_INFINITY) this.#arm(this.#options.sweep_ms)
  }

  /** Frames are large: those who read nothing are not to have many of them waiting. */
  publishedFrame(bytes: number): void {
    this.#bytes += bytes
    if (this.#bytes - this.#swept_bytes > FRAME_SWEEP_BYTES) this.#sweep()
    else if (this.#due_ms === Number.POSITIVE_INFINITY) this.#arm(this.#options.sweep_ms)
  }

  isOver(follower: Follower): boolean {
    return follower.socket.bufferedAmount() > this.#options.slow_bytes
  }

  slowDown(follower: Follower): void {
    follower.move('slow')
    follower.progress_ms = this.#options.now_ms()
    this.#slow.add(follower)
    this.slowed++
    this.#options.takeOff(follower)
    this.#arm(this.#options.sweep_ms)
  }

  recovered(follower: Follower): void {
    this.#slow.delete(follower)
    follower.move('ready')
    follower.look_at = 0
  }

  forget(follower: Follower): void {
    this.#slow.delete(follower)
  }

  #arm(after_ms: number): void {
    const due_ms = this.#options.now_ms() + after_ms
    if (this.#due_ms <= due_ms) return
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#due_ms = due_ms
    this.#timer = setTimeout(() => this.#sweep(), after_ms)
    this.#timer.unref()
  }

  #sweep(): void {
    this.stop()
    const { followers, slow_bytes, stalled_ms, sweep_ms } = this.#options
    const bytes = this.#bytes
    const idle = bytes === this.#swept_bytes
    this.#swept_bytes = bytes
    if (!idle) {
      for (const follower of followers.values()) {
        if (bytes < follower.look_at || follower.mode !== 'ready') continue
        const buffered = follower.socket.bufferedAmount()
        if (buffered > slow_bytes) this.slowDown(follower)
        // A quarter of the room: `bytes` counts characters, of up to three bytes each, without their frames.
        else follower.look_at = bytes + (slow_bytes - buffered) / 4
      }
    }
    const since_ms = this.#options.now_ms() - stalled_ms
    for (const follower of this.#slow) {
      if (follower.progress_ms > since_ms) continue
      this.stalled++
      this.#options.giveUp(follower)
      follower.socket.end(1013, REASON)
    }
    if (!idle) this.#arm(sweep_ms)
    else if (this.#slow.size > 0) this.#arm(Math.max(sweep_ms, stalled_ms / 30))
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    this.#due_ms = Number.POSITIVE_INFINITY
  }
}
