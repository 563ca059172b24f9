import type { Steps } from '../../core/steps.ts'

/** Looks that a rate is taken over, those of an interval of a line, and intervals of a line: 5 s, 3 s and a minute at a look a second. */
const RATE = 5
const INTERVAL = 3
const LINE = 20
/** The interval that is still open is not part of the line. */
const INTERVALS = LINE + 1
const ROW = RATE + INTERVALS
/** Nodes that are read between two breaks for others. */
const AT_ONCE = 500

/**
 * How often nodes have run lately. Their counters only count up, so the difference of two looks is what happened between them. A node
 * whose counter fell began again, or its row has another node now: what was noted of it goes.
 */
export class ExecutionRates {
  readonly #executions: (node: number) => number
  /** By node: what it had counted at the last look. */
  #before = new Float64Array(0)
  /** By node: executions of the last looks, then of the last intervals. */
  #rows = new Float32Array(0)
  readonly #elapsed_s = new Float64Array(RATE)
  #looks = 0

  constructor(executions: (node: number) => number) {
    this.#executions = executions
  }

  /** True when an interval has just ended, so that every line is a new one. */
  get isIntervalEnd(): boolean {
    return this.#looks % INTERVAL === 0
  }

  /** Reads the counters of all nodes, `elapsed_s` after the last time. The first time each costs a page of memory that nobody has touched. */
  *look(nodes: Iterable<number>, elapsed_s: number): Steps<void> {
    const look = this.#looks++
    const second = look % RATE
    this.#elapsed_s[second] = elapsed_s
    const interval = RATE + (Math.floor(look / INTERVAL) % INTERVALS)
    const isFirst = look % INTERVAL === 0
    let read = 0
    for (const node of nodes) {
      if (++read % AT_ONCE === 0) yield
      if (node >= this.#before.length) this.#grow(node)
      const now = this.#executions(node)
      const row = node * ROW
      if (now < this.#before[node]!) {
        this.#rows.fill(0, row, row + ROW)
        this.#before[node] = 0
      }
      const ran = now - this.#before[node]!
      this.#before[node] = now
      this.#rows[row + second] = ran
      this.#rows[row + interval] = isFirst ? ran : this.#rows[row + interval]! + ran
    }
  }

  perSecond(nodes: Iterable<number>): number {
    let ran = 0
    for (const node of nodes) for (let at = 0; at < RATE; at++) ran += this.#rows[node * ROW + at] ?? 0
    let elapsed_s = 0
    for (let at = 0; at < Math.min(RATE, this.#looks); at++) elapsed_s += this.#elapsed_s[at]!
    return elapsed_s > 0 ? ran / elapsed_s : 0
  }

  intervals(nodes: Iterable<number>): number[] {
    const ended = Math.floor(this.#looks / INTERVAL)
    const length = Math.min(LINE, ended)
    const line = new Array<number>(length).fill(0)
    for (const node of nodes) {
      const first = node * ROW + RATE
      for (let at = 0; at < length; at++) line[at]! += this.#rows[first + ((ended - length + at) % INTERVALS)] ?? 0
    }
    return line
  }

  #grow(node: number): void {
    const length = Math.max(64, node + 1, this.#before.length * 2)
    const before = new Float64Array(length)
    before.set(this.#before)
    const rows = new Float32Array(length * ROW)
    rows.set(this.#rows)
    this.#before = before
    this.#rows = rows
  }
}
