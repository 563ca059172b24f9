import { ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import type { RunLogPage } from '../../protocol/nouns/run-log.ts'
import type { Socket } from '../http/socket.ts'

export interface LogSource {
  /** Throws `run_not_found`. */
  page(request: {
    run: string
    after: number
    limit: number
    bytes: number
    node: null
    level: null
  }): Promise<RunLogPage>
}

/** One socket and one run. */
interface LogFollower {
  readonly socket: Socket
  readonly run: string
  /** The last line that was sent. */
  after: number
  mode: 'reading' | 'waiting' | 'blocked' | 'over'
  /** Lines were written while it read. */
  again: boolean
}

/**
 * The logs of runs, to the sockets that follow them. Each follower has a position and reads what was written behind it, so that no line
 * is lost or comes twice, however slow its socket is, and costs one page of memory.
 *
 *   reading --lines came--> sent, and reading on
 *           --none came--> waiting --lines were written--> reading
 *           --the socket holds much unread--> blocked --it drained--> reading
 *           --the run has ended and no line follows--> over
 */
export class LogFollowers {
  readonly #source: LogSource
  readonly #onDefect: (error: unknown) => void
  readonly #by_socket = new Map<Socket, Map<string, LogFollower>>()
  readonly #by_run = new Map<string, Set<LogFollower>>()

  constructor(source: LogSource, onDefect: (error: unknown) => void) {
    this.#source = source
    this.#onDefect = onDefect
  }

  /** From the line behind `after` on; what follows the same run already goes on from there. */
  follow(socket: Socket, run: string, after: number): void {
    const runs = this.#by_socket.get(socket) ?? new Map<string, LogFollower>()
    if (!runs.has(run) && runs.size >= limits.SOCKET_LOGS)
      throw new ServiceError('too_large', `A connection follows the logs of at most ${limits.SOCKET_LOGS} runs.`)
    this.unfollow(socket, run)
    this.#by_socket.set(socket, runs)
    const follower: LogFollower = { socket, run, after, mode: 'waiting', again: false }
    runs.set(run, follower)
    const others = this.#by_run.get(run)
    if (others === undefined) this.#by_run.set(run, new Set([follower]))
    else others.add(follower)
    this.#read(follower)
  }

  unfollow(socket: Socket, run: string): void {
    const follower = this.#by_socket.get(socket)?.get(run)
    if (follower !== undefined) this.#forget(follower)
  }

  /** Lines of the run were written, or it has ended. */
  written(run: string): void {
    for (const follower of this.#by_run.get(run) ?? []) {
      if (follower.mode === 'waiting') this.#read(follower)
      else follower.again = true
    }
  }

  drained(socket: Socket): void {
    for (const follower of this.#by_socket.get(socket)?.values() ?? [])
      if (follower.mode === 'blocked') this.#read(follower)
  }

  closed(socket: Socket): void {
    for (const follower of this.#by_socket.get(socket)?.values() ?? []) this.#forget(follower)
  }

  #forget(follower: LogFollower): void {
    const { socket, run } = follower
    follower.mode = 'over'
    const runs = this.#by_socket.get(socket)
    if (runs?.delete(run) && runs.size === 0) this.#by_socket.delete(socket)
    const others = this.#by_run.get(run)
    if (others?.delete(follower) && others.size === 0) this.#by_run.delete(run)
  }

  #read(follower: LogFollower): void {
    if (follower.socket.bufferedAmount() > limits.SOCKET_LOG_BYTES) {
      follower.mode = 'blocked'
      return
    }
    follower.mode = 'reading'
    follower.again = false
    const { run, after } = follower
    const request = { run, after, limit: limits.RUN_LOG_PAGE_LINES, bytes: limits.SOCKET_LOG_BYTES }
    this.#source.page({ ...request, node: null, level: null }).then(
      page => this.#send(follower, page),
      error => this.#fail(follower, error),
    )
  }

  #send(follower: LogFollower, page: RunLogPage): void {
    if (follower.mode === 'over') return
    const { socket } = follower
    const isLast = page.next_after === null
    if (page.items.length > 0 || isLast) socket.send(JSON.stringify({ type: 'log_lines', ...page }))
    if (isLast) return this.#forget(follower)
    const isMore = follower.again || page.next_after! > follower.after
    follower.after = page.next_after!
    if (isMore) this.#read(follower)
    else follower.mode = 'waiting'
  }

  #fail(follower: LogFollower, error: unknown): void {
    if (follower.mode === 'over') return
    const { socket, run } = follower
    this.#forget(follower)
    if (!(error instanceof ServiceError)) this.#onDefect(error)
    const refusal = error instanceof ServiceError ? error : new ServiceError('internal')
    socket.send(JSON.stringify({ type: 'error', run, problem: refusal.toJSON() }))
  }
}
