/** A first-in first-out list over a circular array: constant-time push and shift, no allocation before the first and once it has grown. */
export class Fifo<Item> {
  #items: (Item | undefined)[] = []
  #first = 0
  #size = 0

  get size(): number {
    return this.#size
  }

  push(item: Item): void {
    if (this.#size === this.#items.length) this.#grow()
    this.#items[(this.#first + this.#size++) & (this.#items.length - 1)] = item
  }

  /** Inserts after the last entry that is not ordered after it. */
  insert(item: Item, goesBefore: (item: Item, other: Item) => boolean): void {
    this.push(item)
    for (let at = this.#size - 1; at > 0 && goesBefore(item, this.at(at - 1)); at--) {
      this.#set(at, this.at(at - 1))
      this.#set(at - 1, item)
    }
  }

  at(index: number): Item {
    return this.#items[(this.#first + index) & (this.#items.length - 1)] as Item
  }

  remove(index: number): void {
    for (let at = index; at > 0; at--) this.#set(at, this.at(at - 1))
    this.shift()
  }

  #set(index: number, item: Item): void {
    this.#items[(this.#first + index) & (this.#items.length - 1)] = item
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
    const items: (Item | undefined)[] = new Array(old.length * 2 || 16)
    for (let at = 0; at < this.#size; at++) items[at] = old[(this.#first + at) & (old.length - 1)]
    this.#items = items
    this.#first = 0
  }
}
