/** A first-in first-out list over a circular array: constant-time push and shift, no allocation once it has grown. */
export class Fifo<Item> {
  #items: (Item | undefined)[] = new Array(16)
  #first = 0
  #size = 0

  get size(): number {
    return this.#size
  }

  push(item: Item): void {
    if (this.#size === this.#items.length) this.#grow()
    this.#items[(this.#first + this.#size++) & (this.#items.length - 1)] = item
  }

  get first(): Item | undefined {
    return this.#items[this.#first]
  }

  shift(): Item | undefined {
    if (this.#size === 0) return undefined
    const item = this.#items[this.#first]
    this.#items[this.#first] = undefined
    this.#first = (this.#first + 1) & (this.#items.length - 1)
    this.#size--
    return item
  }

  *[Symbol.iterator](): Iterator<Item> {
    for (let at = 0; at < this.#size; at++) yield this.#items[(this.#first + at) & (this.#items.length - 1)] as Item
  }

  #grow(): void {
    const old = this.#items
    const items: (Item | undefined)[] = new Array(old.length * 2)
    for (let at = 0; at < this.#size; at++) items[at] = old[(this.#first + at) & (old.length - 1)]
    this.#items = items
    this.#first = 0
  }
}
