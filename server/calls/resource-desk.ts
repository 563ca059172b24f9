import { booked, given, isNothing } from '../../core/books/amounts.ts'
import { Books, type Claim, newClaim } from '../../core/books/books.ts'
import type { Amounts } from '../../core/books/ledger.ts'
import { cardNumbers, listBooks } from '../../core/books/listing.ts'
import type { Memory } from '../../core/memory/region.ts'
import { ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import type { EventType } from '../../protocol/nouns/event.ts'
import type { ResourceAmounts } from '../../protocol/nouns/run.ts'
import type { MachineBooks } from '../../protocol/worker/resources.ts'
import type { Machine } from './local-machine.ts'

/** The machines that nodes run on. */
export interface Workers {
  /** Of the waiting nodes, those of `run`, or all when it is null; at most `limits.WAITING_NODES_SHOWN`. */
  resources(run: string | null): MachineBooks
}

/** The name of the engine's own machine. */
export const LOCAL = 'local'

export interface ResourceRequest {
  /** `<flow>.<node>` */
  readonly node: string
  /** Null in live execution. */
  readonly run: string | null
  readonly asked: ResourceAmounts
  /** The label of the worker that it needs; null when the engine's own machine is enough. */
  readonly device: string | null
}

/** What a node holds until it is released. */
export interface Grant {
  /** Its number in the books; 0 when it requested nothing that they count. */
  readonly ticket: number
  readonly machine: string
  /** Numbers of the cards that only this node holds. */
  readonly cards: readonly number[]
  /** What was requested, cut to what the largest machine has. */
  readonly granted: ResourceAmounts
}

export interface Waited {
  /** True when it was not granted at once. */
  readonly waits: boolean
  /** Rejects with `cancelled` after `cancel`, with `interrupted` when the engine ends. */
  readonly promise: Promise<Grant>
  /** Leaves the line. False when it was granted before; then release the grant that the promise brings. */
  cancel(): boolean
}

export interface ResourceDeskParts {
  readonly memory: Memory
  /** The front's owner word. */
  readonly owner: number
  readonly machine: Machine
  /** The steady clock. It decides when a node that has waited too long holds the others back. */
  steady_us(): number
  /** The time of day of a time of the steady clock. */
  shownTime(steady_us: number): string
  announce(type: EventType, flow: string, more: Record<string, unknown>): void
}

interface Entry extends ResourceRequest {
  readonly amounts: Amounts
  readonly since_us: number
  readonly resolve: (grant: Grant) => void
  readonly reject: (error: ServiceError) => void
  /** Its number in the books; 0 while they have no room for it. */
  ticket: number
  waits: boolean
}

/** The front's side of the resource books: the requests by node name, and the machines. */
export class ResourceDesk implements Workers {
  readonly #parts: ResourceDeskParts
  readonly #books: Books
  /** Requests by ticket: those that hold resources, then those that wait. */
  readonly #held = new Map<number, Entry>()
  readonly #waiting = new Map<number, Entry>()
  /** Requests for which the books have no room, in order of request. */
  readonly #beyond: Entry[] = []
  /** Requests that name a device. Only a worker has labels, never the engine's own machine, so they are in no line of the books. */
  readonly #labelled = new Set<Entry>()
  /** When a live node was last announced as waiting, in milliseconds. */
  readonly #announced = new Map<string, number>()
  readonly #claim: Claim = newClaim()

  constructor(parts: ResourceDeskParts) {
    this.#parts = parts
    this.#books = new Books(parts.memory, parts.owner)
    const { cpus, gpus, ram_mb } = parts.machine
    const [low, high] = cardSet(gpus)
    this.#books.addMachine(cpus * 1000, low, high, ram_mb * 1024, parts.steady_us())
  }

  /** Grants at once when there is room. Otherwise the request waits in the line and the event `node_queued` is sent. */
  claim({ node, run, asked, device }: ResourceRequest): Waited {
    const { promise, resolve, reject } = Promise.withResolvers<Grant>()
    const amounts = booked(asked)
    const entry: Entry = {
      node,
      run,
      asked,
      device,
      amounts,
      since_us: this.#parts.steady_us(),
      resolve,
      reject,
      ticket: 0,
      waits: false,
    }
    if (device !== null) {
      entry.waits = true
      this.#labelled.add(entry)
    } else if (isNothing(amounts)) resolve({ ticket: 0, machine: LOCAL, cards: [], granted: given(asked, amounts) })
    else if (this.#beyond.length > 0 || !this.#ask(entry)) {
      entry.waits = true
      this.#beyond.push(entry)
    }
    const { waits } = entry
    if (waits) this.#announce(entry)
    return { waits, promise, cancel: () => this.#cancel(entry) }
  }

  /** Frees what a call held, after the call, and its thread if that was ended, have ended. A second release does nothing. */
  release(grant: Grant): void {
    if (!this.#held.delete(grant.ticket)) return
    this.#books.release(grant.ticket, this.#parts.steady_us())
    this.#settle()
  }

  resources(run: string | null = null): MachineBooks {
    const { machines, claims } = this.#books.reading(ledger => listBooks(this.#parts.memory, ledger))
    const shown: MachineBooks['waiting'] = []
    // Tickets are given in the order of the line.
    this.#show(shown, [this.#waiting.values(), this.#beyond], run)
    this.#show(shown, [this.#labelled], run)
    return {
      machines: machines.map(({ machine, capacity, free }) => ({
        machine: LOCAL,
        capacity: { cpus: capacity.cpus / 1000, gpus: capacity.cards.length, ram_mb: capacity.ram_kib / 1024 },
        free: { cpus: free.cpus / 1000, cards: free.cards, ram_mb: free.ram_kib / 1024 },
        held: claims
          .filter(claim => claim.machine === machine)
          .sort((a, b) => a.ticket - b.ticket)
          .flatMap(({ ticket, cpus, cards, ram_kib, since_us }) => {
            const entry = this.#held.get(ticket)
            if (entry === undefined) return []
            const { node, run } = entry
            return [
              { node, run, cpus: cpus / 1000, cards, ram_mb: ram_kib / 1024, since: this.#parts.shownTime(since_us) },
            ]
          }),
      })),
      waiting: shown,
      waiting_count: this.waitingCount,
    }
  }

  get waitingCount(): number {
    return this.#waiting.size + this.#beyond.length + this.#labelled.size
  }

  /** The requests of a line in order, as many as may be shown; the rest are only counted. */
  #show(shown: MachineBooks['waiting'], line: readonly Iterable<Entry>[], of: string | null): void {
    let position = 0
    for (const entries of line) {
      for (const entry of entries) {
        if (shown.length === limits.WAITING_NODES_SHOWN) return
        position++
        const { node, run, asked, device, since_us, amounts } = entry
        if (of !== null && run !== of) continue
        const needs = given(asked, device === null ? this.#needs(amounts) : amounts)
        shown.push({ node, run, asked, needs, since: this.#parts.shownTime(since_us), device, position })
      }
    }
  }

  /** Refuses all requests that wait; nothing is granted afterwards. */
  close(): void {
    const error = new ServiceError('interrupted', 'The engine is stopping.')
    for (const entry of [...this.#waiting.values()]) if (this.#leave(entry)) entry.reject(error)
    for (const entry of [...this.#beyond.splice(0), ...this.#labelled]) entry.reject(error)
    this.#labelled.clear()
  }

  /** Enters a request into the books, where it is granted or waits. False when they are full. */
  #ask(entry: Entry): boolean {
    const claim = this.#claim
    if (this.#books.claim(entry.amounts, this.#parts.steady_us(), claim)) {
      entry.ticket = claim.ticket
      this.#grant(entry, claim)
      return true
    }
    if (claim.ticket === 0) return false
    entry.ticket = claim.ticket
    entry.waits = true
    this.#waiting.set(claim.ticket, entry)
    return true
  }

  #grant(entry: Entry, { ticket, cpus, cards_low, cards_high, ram_kib }: Claim): void {
    const cards = cardNumbers(cards_low, cards_high)
    entry.waits = false
    this.#held.set(ticket, entry)
    const granted = given(entry.asked, { cpus, cards: cards.length, ram_kib })
    entry.resolve({ ticket, machine: LOCAL, cards, granted })
  }

  /** Resolves the requests that were granted, and enters those that found no room in the books. */
  #settle(): void {
    for (;;) {
      if (this.#waiting.size > 0)
        while (this.#books.granted(this.#claim)) {
          const entry = this.#waiting.get(this.#claim.ticket)!
          this.#waiting.delete(entry.ticket)
          this.#grant(entry, this.#claim)
        }
      const next = this.#beyond[0]
      if (next === undefined || !this.#ask(next)) return
      this.#beyond.shift()
    }
  }

  #cancel(entry: Entry): boolean {
    if (!entry.waits) return false
    const beyond = this.#beyond.indexOf(entry)
    if (this.#labelled.delete(entry)) {
      // It is in no line of the books.
    } else if (beyond >= 0) this.#beyond.splice(beyond, 1)
    else this.#leave(entry)
    entry.waits = false
    entry.reject(new ServiceError('cancelled', `${entry.node} stopped waiting for resources.`))
    this.#settle()
    return true
  }

  #leave(entry: Entry): boolean {
    this.#waiting.delete(entry.ticket)
    return this.#books.cancel(entry.ticket, this.#parts.steady_us())
  }

  #announce({ node, run, asked, amounts, device }: Entry): void {
    if (run === null && !this.#isDue(node)) return
    this.#parts.announce('node_queued', node.slice(0, node.indexOf('.')), {
      node,
      run,
      needs: given(asked, this.#needs(amounts)),
      position: device === null ? this.#waiting.size + this.#beyond.length : this.#labelled.size,
      ...(device === null ? {} : { device }),
    })
  }

  /** A live node may wait thousands of times a second; it is announced at most once in an interval. */
  #isDue(node: string): boolean {
    const now_ms = this.#parts.steady_us() / 1000
    if (now_ms - (this.#announced.get(node) ?? Number.NEGATIVE_INFINITY) < limits.NODE_QUEUED_EVERY_MS) return false
    this.#announced.delete(node)
    this.#announced.set(node, now_ms)
    for (const [first] of this.#announced) {
      if (this.#announced.size <= limits.BOOK_WAITING) break
      this.#announced.delete(first)
    }
    return true
  }

  #needs({ cpus, cards, ram_kib }: Amounts): Amounts {
    return this.#books.reading(ledger => {
      ledger.cut(cpus, cards, ram_kib)
      return { ...ledger.needs }
    })
  }
}

/** The set of the first `cards` cards, in the form that the books use. */
const cardSet = (cards: number): [low: number, high: number] => {
  const bits = (count: number): number => (count >= 32 ? -1 : (1 << Math.max(0, count)) - 1)
  return [bits(cards), bits(cards - 32)]
}
