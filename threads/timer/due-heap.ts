/** A binary heap of things that are due, the earliest first. */
export class DueHeap<Item extends { due_ms: number }> {
  readonly #items: Item[] = []

  get size(): number {
    return this.#items.length
  }

  peek(): Item | undefined {
    return this.#items[0]
  }

  push(item: Item): void {
    const items = this.#items
    let at = items.length
    items.push(item)
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (items[parent]!.due_ms <= item.due_ms) break
      items[at] = items[parent]!
      at = parent
    }
    items[at] = item
  }

  /** Empties it; in no order. */
  drain(): Item[] {
    return this.#items.splice(0)
  }

  pop(): Item | undefined {
    const items = this.#items
    const first = items[0]
    const last = items.pop()
    if (first === undefined || last === undefined || items.length === 0) return first
    let at = 0
    for (;;) {
      let child = at * 2 + 1
      if (child >= items.length) break
      if (child + 1 < items.length && items[child + 1]!.due_ms < items[child]!.due_ms) child++
      if (items[child]!.due_ms >= last.due_ms) break
      items[at] = items[child]!
      at = child
    }
    items[at] = last
    return first
  }
}
