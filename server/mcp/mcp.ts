import type { Answer } from '../http/route.ts'
import type { McpEndpoint, McpRequest } from './endpoint.ts'

/** The endpoint, which is loaded with the first request: most engines are never asked, and its packages take 0.2 s. */
export class Mcp {
  readonly #open: () => Promise<McpEndpoint>
  #endpoint: Promise<McpEndpoint> | null = null

  constructor(open: () => Promise<McpEndpoint>) {
    this.#open = open
  }

  async take(asked: McpRequest): Promise<Answer> {
    return (await this.#loaded()).take(asked)
  }

  endStale(): void {
    this.#endpoint?.then(endpoint => endpoint.endStale()).catch(() => {})
  }

  async close(): Promise<void> {
    await this.#endpoint?.then(endpoint => endpoint.close()).catch(() => {})
  }

  /** One that could not be loaded is loaded again with the next request. */
  #loaded(): Promise<McpEndpoint> {
    if (this.#endpoint !== null) return this.#endpoint
    const loading = this.#open()
    loading.catch(() => {
      if (this.#endpoint === loading) this.#endpoint = null
    })
    return (this.#endpoint = loading)
  }
}
