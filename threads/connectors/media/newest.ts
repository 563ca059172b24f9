import type { ConnectorHost } from '../connector.ts'

type Outputs = Readonly<Record<string, unknown>>

/** Publishes what a camera or a microphone gives. While the flow is full, only the newest waits; the others are dropped and counted. */
export class Newest {
  readonly #host: ConnectorHost
  #waiting: Outputs | null = null
  #dropped = 0
  #closed = false

  constructor(host: ConnectorHost) {
    this.#host = host
  }

  publish(outputs: Outputs): void {
    if (this.#waiting !== null) {
      this.#dropped++
      this.#waiting = outputs
    } else if (this.#host.publish(outputs) === 'full') {
      this.#waiting = outputs
      this.#again().catch(error => this.#host.log('error', String(error)))
    }
  }

  close(): void {
    if (this.#waiting !== null) this.#dropped++
    this.#waiting = null
    this.#tell()
    this.#closed = true
  }

  async #again(): Promise<void> {
    while (this.#waiting !== null && !this.#closed) {
      await this.#host.whenRoom()
      this.#tell()
      if (this.#waiting !== null && this.#host.publish(this.#waiting) !== 'full') this.#waiting = null
    }
  }

  #tell(): void {
    if (this.#dropped > 0 && !this.#closed) this.#host.dropped('flow_full', this.#dropped)
    this.#dropped = 0
  }
}
