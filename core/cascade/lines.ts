import type { Flow } from './flow.ts'
import type { FlowControl } from './flow-control.ts'
import type { Host } from './host.ts'
import type { Mailbox, Waiting } from './mailbox.ts'
import type { OpenWaves } from './open-waves.ts'
import type { PlanRun } from './plan-run.ts'
import type { Seat } from './seat.ts'
import type { Seats } from './seats.ts'
import type { Wave } from './wave.ts'

/** The mailboxes of a flow: executions that wait for a busy node, for a body that is being loaded, or for an earlier node of their wave. */
export class Lines {
  readonly #flow: Flow
  readonly #host: Host
  readonly #waves: OpenWaves
  readonly #seats: Seats
  readonly #control: FlowControl

  constructor(flow: Flow, host: Host, waves: OpenWaves, seats: Seats, control: FlowControl) {
    this.#seats = seats
    this.#control = control
    this.#flow = flow
    this.#host = host
    this.#waves = waves
  }

  /** An execution of the node may not start at once. */
  mustWait(seat: Seat): boolean {
    const { mailbox } = seat
    if (mailbox.closed || !this.isReady(seat) || this.#control.holds(mailbox)) return true
    return !seat.current && this.isOvertaken(seat)
  }

  wait(wave: Wave, position: number): void {
    this.enter(wave, position)
    this.letIn(wave.run.seats[position]!.mailbox)
  }

  /** Enters the mailbox; the wave's nodes further down wait for it. */
  enter(wave: Wave, position: number): void {
    const { mailbox } = wave.run.seats[position]!
    if (mailbox.reserved === wave) mailbox.reserved = null
    wave.away.push(position)
    mailbox.enter({ wave, position })
    this.#control.entered(mailbox, wave)
  }

  letIn(mailbox: Mailbox): void {
    if (!mailbox.busy && mailbox.reserved === null) this.next(mailbox)
  }

  /** Executions that waited for a node that is no longer held continue; false: there are none. */
  startHeld(): boolean {
    const mailbox = this.#control.nextStart()
    if (mailbox !== null) this.letIn(mailbox)
    return mailbox !== null
  }

  letInHeld(mailbox: Mailbox): void {
    if (!mailbox.busy && mailbox.reserved === null) this.nextHeld(mailbox)
  }

  /** The node is free: the first execution that may start is reserved as the next one, even if others arrive before its wave runs. */
  next(mailbox: Mailbox): void {
    if (this.#control.holds(mailbox)) {
      mailbox.closed = mailbox.waiting.size > 0
      if (mailbox.closed) this.#control.holdStart(mailbox)
      return
    }
    this.nextHeld(mailbox)
  }

  /** Though the node is held. */
  nextHeld(mailbox: Mailbox): void {
    const next = mailbox.nextUp()
    if (next === null) return
    const { wave, position } = next
    const seat = wave.run.seats[position]!
    if (!seat.current && this.isOvertaken(seat)) {
      this.#handOne(next, this.#flow.run, true)
      return this.nextHeld(mailbox)
    }
    if (!this.isReady(seat)) this.load(seat)
    if (seat.loading) return
    mailbox.leave(next)
    this.#control.left(mailbox, wave)
    mailbox.reserved = wave
    wave.comeBack(position)
    wave.activate(position)
    this.#flow.enqueue(wave)
  }

  // ---- bodies

  /** Its body can be called, sent away, or found broken. */
  isReady(seat: Seat): boolean {
    return seat.body !== null || seat.broken !== null || this.#host.dispatched(seat)
  }

  /** Bodies are loaded together, as soon as the flow has work on this thread; until then executions wait in the mailbox. */
  load(seat: Seat): void {
    if (seat.loading || this.#host.loadAtOnce(this.#flow, seat)) return
    seat.loading = true
    this.#flow.away++
    this.#host.load(this.#flow, seat)
  }

  bodyReady(seat: Seat): void {
    seat.loading = false
    this.#flow.away--
    this.letIn(seat.mailbox)
  }

  // ---- purge

  /** Drops every execution that waits in one of the mailboxes; answers how many. Their waves go on without them. */
  purge(mailboxes: Iterable<Mailbox>): number {
    let purged = 0
    for (const mailbox of mailboxes) {
      for (const one of [...mailbox.waiting]) {
        const { wave, position } = one
        mailbox.leave(one)
        this.#control.left(mailbox, wave)
        wave.cascade.purged = true
        wave.comeBack(position)
        this.#flow.enqueue(wave)
        purged++
      }
      mailbox.closed = mailbox.busy || mailbox.reserved !== null
    }
    return purged
  }

  // ---- deploy

  /**
   * The node has run on its new body: a cascade that began before the deploy and reaches the node now takes the new body as
   * well. Otherwise it would run on the old body after others have run on the new one.
   */
  isOvertaken(replaced: Seat): boolean {
    return this.#seats.present(replaced.node.id)?.begun ?? false
  }

  /** Executions that wait for a replaced seat continue, in their order, on the new plan; or they fail and are counted. */
  handOver(mailboxes: ReadonlySet<Mailbox>, to: PlanRun): void {
    // All of them first: an execution that waits for a node of its own wave, which now fails, finishes on its old plan.
    const leaving = [...mailboxes].flatMap(mailbox => mailbox.leaving())
    for (const one of leaving) this.#handOne(one, to, false)
    for (const mailbox of mailboxes) this.letIn(mailbox)
  }

  #handOne(one: Waiting, to: PlanRun, late: boolean): void {
    const { wave, position } = one
    const seat = wave.run.seats[position]!
    seat.mailbox.leave(one)
    this.#control.left(seat.mailbox, wave)
    const heir = this.#waves.carryOver(wave, position, to, late)
    if (heir === null) {
      wave.cascade.errors++
      this.#host.planChanged(this.#flow, seat, wave.cascade)
    } else {
      const there = heir.takeFirst()
      this.enter(heir, there)
      this.#waves.park(heir)
    }
    wave.comeBack(position)
    this.#flow.enqueue(wave)
  }
}
