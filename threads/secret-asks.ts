/** What bodies of this thread have asked for and not heard of yet. Only a thread that asks gets a value, and nothing keeps it here. */
export class SecretAsks {
  readonly #post: (ask: number, name: string, node: string) => void
  readonly #open = new Map<number, (text: string | null) => void>()
  #asks = 0

  constructor(post: (ask: number, name: string, node: string) => void) {
    this.#post = post
  }

  /** Null: there is no such secret. */
  ask(name: string, node: string): Promise<string | null> {
    const ask = ++this.#asks
    return new Promise(resolve => {
      this.#open.set(ask, resolve)
      this.#post(ask, name, node)
    })
  }

  answered({ ask, text }: SecretAnswer): void {
    this.#open.get(ask)?.(text)
    this.#open.delete(ask)
  }
}

export interface SecretAnswer {
  readonly ask: number
  readonly text: string | null
}
