import { ServiceError } from '../../protocol/errors.ts'

interface Bucket {
  /** When the failures happened, in milliseconds, oldest first; never more than the bound. */
  readonly failures: number[]
  /** The last one was refused already. */
  is_blocked: boolean
  /** Attempts whose outcome is not known yet; they count as failures until they are. */
  pending: number
}

export interface AttemptBounds {
  readonly failures: number
  readonly window_ms: number
  readonly buckets: number
  /** For the text of the refusal: to whom so many are allowed. */
  readonly whom: string
  /** What counts, in the same text; failed attempts when left out. */
  readonly what?: string
}

/**
 * Counts failed attempts by client address, or by another key, in a sliding window. An attempt is `begin` and then `failed` or `succeeded`; a
 * success spends nothing. The table is capped: when it is full the address with the fewest failures goes (of those, the one
 * whose newest is oldest), so that pushing a blocked address out costs as many failures as the table is large.
 */
export class Attempts {
  readonly #bounds: AttemptBounds
  readonly #now: () => number
  readonly #blocked: (key: string) => void
  readonly #buckets = new Map<string, Bucket>()

  /** `blocked` hears of the first refusal after an attempt that was let through. */
  constructor(bounds: AttemptBounds, now: () => number, blocked: (key: string) => void = () => {}) {
    this.#bounds = bounds
    this.#blocked = blocked
    this.#now = now
  }

  get size(): number {
    return this.#buckets.size
  }

  /** Throws `rate_limited` with the seconds until the oldest failure leaves the window. */
  begin(address: string): void {
    let bucket = this.#buckets.get(address)
    if (bucket === undefined) {
      if (this.#buckets.size >= this.#bounds.buckets) this.#makeRoom()
      bucket = { failures: [], is_blocked: false, pending: 0 }
      this.#buckets.set(address, bucket)
    }
    this.#forgetOld(bucket)
    if (bucket.failures.length + bucket.pending >= this.#bounds.failures) {
      const oldest = bucket.failures[0]
      const wait_ms = oldest === undefined ? 1000 : oldest + this.#bounds.window_ms - this.#now()
      if (!bucket.is_blocked) this.#blocked(address)
      bucket.is_blocked = true
      const { failures, window_ms, whom, what = 'failed attempts' } = this.#bounds
      throw new ServiceError(
        'rate_limited',
        `${failures} ${what} in ${window_ms / 60_000} minutes are allowed to ${whom}.`,
        { retry_after_s: Math.max(1, Math.ceil(wait_ms / 1000)) },
      )
    }
    bucket.is_blocked = false
    bucket.pending++
  }

  failed(address: string): void {
    const bucket = this.#settle(address)
    bucket?.failures.push(this.#now())
  }

  succeeded(address: string): void {
    const bucket = this.#settle(address)
    if (bucket && bucket.pending === 0 && bucket.failures.length === 0) this.#buckets.delete(address)
  }

  #settle(address: string): Bucket | undefined {
    const bucket = this.#buckets.get(address)
    if (bucket) bucket.pending = Math.max(0, bucket.pending - 1)
    return bucket
  }

  #forgetOld(bucket: Bucket): void {
    const since = this.#now() - this.#bounds.window_ms
    while (bucket.failures.length > 0 && bucket.failures[0]! <= since) bucket.failures.shift()
  }

  /** One pass over the table; only a new address that meets a full table pays for it. */
  #makeRoom(): void {
    let victim: string | null = null
    let fewest = Number.POSITIVE_INFINITY
    let newest = Number.POSITIVE_INFINITY
    for (const [address, bucket] of this.#buckets) {
      this.#forgetOld(bucket)
      if (bucket.failures.length === 0 && bucket.pending === 0) {
        this.#buckets.delete(address)
        continue
      }
      const count = bucket.failures.length + bucket.pending
      const last = bucket.failures.at(-1) ?? Number.POSITIVE_INFINITY
      if (count < fewest || (count === fewest && last < newest)) {
        victim = address
        fewest = count
        newest = last
      }
    }
    if (victim !== null && this.#buckets.size >= this.#bounds.buckets) this.#buckets.delete(victim)
  }
}
