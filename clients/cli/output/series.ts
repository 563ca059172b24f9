import { printable } from './text.ts'

const POINTS = 120
/** Values within this time share a point, so that the line shows minutes and not milliseconds. */
const POINT_MS = 500
const RATE_MS = 5_000
const RATE_SLICE_MS = 500
const RATE_SLICES = RATE_MS / RATE_SLICE_MS

/** What `svc tail` shows of one message. Times are milliseconds of a steady clock. */
export class Series {
  readonly name: string
  readonly points: number[] = []
  /** The newest value, printable. */
  last = ''
  /** Values that the engine did not send because this end was slow. */
  missed = 0
  #point_at_ms = Number.NEGATIVE_INFINITY
  #first_at_ms: number | null = null
  readonly #counts = new Float64Array(RATE_SLICES)
  #slice = 0

  constructor(name: string) {
    this.name = printable(name)
  }

  add(value: unknown, missed: number, at_ms: number): void {
    this.last = valueText(value)
    this.missed += missed
    this.#count(1 + missed, at_ms)
    const point = typeof value === 'boolean' ? Number(value) : value
    if (typeof point !== 'number') return
    if (at_ms - this.#point_at_ms < POINT_MS) {
      this.points[this.points.length - 1] = point
      return
    }
    this.#point_at_ms = at_ms
    this.points.push(point)
    if (this.points.length > POINTS) this.points.shift()
  }

  /** Published values per second over the last five seconds, with the missed ones. */
  rate(at_ms: number): number {
    if (this.#first_at_ms === null) return 0
    this.#turn(at_ms)
    const since_ms = Math.min(RATE_MS, Math.max(RATE_SLICE_MS, at_ms - this.#first_at_ms))
    return (this.#counts.reduce((sum, count) => sum + count, 0) / since_ms) * 1000
  }

  /** The first value is an old one and is not counted. */
  #count(values: number, at_ms: number): void {
    if (this.#first_at_ms === null) {
      this.#first_at_ms = at_ms
      this.#slice = Math.floor(at_ms / RATE_SLICE_MS)
      return
    }
    this.#turn(at_ms)
    this.#counts[this.#slice % RATE_SLICES]! += values
  }

  #turn(at_ms: number): void {
    const slice = Math.floor(at_ms / RATE_SLICE_MS)
    if (slice - this.#slice >= RATE_SLICES) this.#counts.fill(0)
    else for (let at = this.#slice + 1; at <= slice; at++) this.#counts[at % RATE_SLICES] = 0
    this.#slice = slice
  }
}

function valueText(value: unknown): string {
  if (typeof value === 'number' && !Number.isInteger(value)) return String(Number(value.toPrecision(8)))
  if (typeof value === 'object' && value !== null && 'digest' in value && 'media_type' in value) {
    return printable(`${value.media_type} ${String(value.digest).slice(0, 19)}`)
  }
  return printable(JSON.stringify(value) ?? '')
}
