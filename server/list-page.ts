import { limits } from '../protocol/limits.ts'
import type { List } from '../protocol/nouns/list.ts'

/** What an answer holds besides its items. */
const FRAME_BYTES = 512

/** Takes items into a page as long as there is room for their JSON; the first one is always taken. */
export class PageRoom {
  #left: number
  #isEmpty = true

  /** `beside`: what the answer carries besides the page. */
  constructor(beside: unknown = null) {
    this.#left = limits.LIST_BYTES - FRAME_BYTES - bytesOf(beside)
  }

  takes(item: unknown): boolean {
    this.#left -= bytesOf(item) + 1
    if (this.#left < 0 && !this.#isEmpty) return false
    this.#isEmpty = false
    return true
  }
}

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))

/** `items` from `offset` on, of `count`, as far as a page has room for them. They are asked for one by one. */
export function pageOf<Item>(items: Iterable<Item>, count: number, offset: number, room = new PageRoom()): List<Item> {
  const taken: Item[] = []
  for (const item of items) {
    if (!room.takes(item)) break
    taken.push(item)
  }
  const next = offset + taken.length
  return next < count && taken.length > 0 ? { items: taken, count, next } : { items: taken, count }
}
