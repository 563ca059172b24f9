import type { LookupAddress } from 'node:dns'
import type { ConnectorHost, Lease, Published, Shareable } from '../../threads/connectors/connector.ts'
import { Reach, type ReachRules, type Resolve } from '../../threads/connectors/reach.ts'
import { Sharing } from '../../threads/connectors/sharing.ts'

/** Names as a test wants them; others are not known. */
export const resolving =
  (names: Readonly<Record<string, string>>): Resolve =>
  (name, _options, done) => {
    const address = names[name]
    const unknown = Object.assign(new Error(`getaddrinfo ENOTFOUND ${name}`), { code: 'ENOTFOUND' })
    const found: LookupAddress[] = address === undefined ? [] : [{ address, family: address.includes(':') ? 6 : 4 }]
    setImmediate(() => done(address === undefined ? unknown : null, found))
  }

/** What a runner asks of the connectors thread, in memory. */
export class ConnectorHostDouble implements ConnectorHost {
  readonly published: unknown[] = []
  /** `ok`, or why it is down; only changes. */
  readonly states: string[] = []
  readonly errors: string[] = []
  readonly stored: { media_type: string; bytes: Buffer }[] = []
  readonly reach: Reach
  readonly timezone = 'UTC'
  readonly sharing = new Sharing(error => this.errors.push(String(error)))
  /** What the next publishes come to; `published` when it is empty. */
  answers: Published[] = []

  constructor(names: Readonly<Record<string, string>> = {}, rules: ReachRules = { allow: [], deny: [] }) {
    this.reach = new Reach(rules, resolving(names))
  }

  readonly artifacts = {
    store: async (content: AsyncIterable<Uint8Array>, media_type: string) => {
      const parts: Uint8Array[] = []
      for await (const part of content) parts.push(part)
      const bytes = Buffer.concat(parts)
      this.stored.push({ media_type, bytes })
      return { digest: `sha256:${'0'.repeat(64)}`, media_type, size: bytes.length }
    },
    read: async () => this.stored.at(-1)!.bytes,
  }

  readonly folder = '/'
  stopping = false

  volatile(): never {
    throw new RangeError('nothing is kept in memory here')
  }

  publish(outputs: Readonly<Record<string, unknown>>): Published {
    const answer = this.answers.shift() ?? 'published'
    if (answer === 'published') this.published.push(outputs)
    return answer
  }

  /** Kept as they are: this host knows no ports. */
  publishPlaced(values: readonly unknown[]): Published {
    return this.publish({ ...values })
  }

  batch<Result>(publishes: () => Result): Result {
    return publishes()
  }

  async whenRoom(): Promise<void> {}
  dropped(): void {}
  failed(_code: string, message: string): void {
    this.errors.push(message)
  }

  ok(): void {
    this.#report('ok')
  }

  down(reason: string): void {
    this.#report(reason)
  }

  #report(state: string): void {
    if (this.states.at(-1) !== state) this.states.push(state)
  }

  log(): void {}
  gauge(): void {}

  share<Thing extends Shareable>(key: string, open: () => Thing): Lease<Thing> {
    return this.sharing.share(key, open)
  }

  steadyMs(): number {
    return performance.now()
  }

  nowUs(): number {
    return Date.now() * 1000
  }

  random(): number {
    return 0
  }
}
