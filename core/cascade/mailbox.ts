import { Fifo } from './fifo.ts'
import { compareWaves, type Wave } from './wave.ts'

export interface Waiting {
  readonly wave: Wave
  readonly position: number
}

/**
 * The mailbox of a node, by node id, across plans and seats: one execution at a time, and each version of a message before
 * later ones. A wave may wait here while bodies away may still produce the inputs of the node. Entries that share no message
 * with it may pass it, so that a body which never ends delays only its own readers.
 *
 *   open -> busy -> (reserved for the next one -> its execution ->)* open
 */
export class Mailbox {
  readonly waiting = new Fifo<Waiting>()
  /** An execution may not start at once: one is away, or others are ahead of it. */
  closed = false
  /** An execution is away: a promise, a generator between pulls, or a call slot holds it. */
  busy = false
  /** Emissions of this node's executions that wait in other mailboxes, see `FlowControl`. */
  unread = 0
  /** Waves that wait in mailboxes and carry what a body of this node has given them after it was away. */
  fed = 0
  /** The wave whose execution was taken out of the mailbox and has not begun yet. */
  reserved: Wave | null = null

  enter(one: Waiting): void {
    this.waiting.insert(one, goesBefore)
    this.closed = true
  }

  /** The first entry that waits only for its turn, and for no wave before it; null: no entry may start. */
  nextUp(): Waiting | null {
    const { waiting } = this
    this.closed = waiting.size > 0
    for (let at = 0; at < waiting.size; at++) {
      const one = waiting.at(at)
      if (one.wave.isBlocked(one.position)) continue
      if (!this.#comesAfterOneBefore(one, at)) return one
    }
    return null
  }

  /** All entries before it are blocked, or are ordered after a blocked one. */
  #comesAfterOneBefore(one: Waiting, at: number): boolean {
    for (let before = 0; before < at; before++) if (messageOrder(this.waiting.at(before), one) !== 0) return true
    return false
  }

  /** Entries that wait only for a seat that was replaced. */
  leaving(): Waiting[] {
    const leaving: Waiting[] = []
    for (const one of this.waiting) {
      const { wave, position } = one
      if (!wave.run.seats[position]!.current && !wave.isBlocked(position)) leaving.push(one)
    }
    return leaving
  }

  leave(one: Waiting): void {
    for (let at = 0; at < this.waiting.size; at++) if (this.waiting.at(at) === one) return this.waiting.remove(at)
  }
}

/** By the versions of a message that both bring; else in serial order. */
function goesBefore(one: Waiting, other: Waiting): boolean {
  return (messageOrder(one, other) || compareWaves(one.wave, other.wave)) < 0
}

/** Negative when `one` brings the node an older version of a message than `other` does; 0 when they bring none in common. */
function messageOrder(one: Waiting, other: Waiting): number {
  const { run } = one.wave
  const there = other.wave.run
  for (const { message, trigger } of run.plan.nodes[one.position]!.inputs) {
    if (!trigger) continue
    const version = run.versionIn(message, one.wave)
    if (version === 0) continue
    const same = run === there ? message : there.plan.by_message.get(run.plan.messages[message]!.index)
    const other_version = same === undefined ? 0 : there.versionIn(same, other.wave)
    if (other_version !== 0) return version - other_version
  }
  return 0
}
