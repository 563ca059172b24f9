/** Which items of a list. */
export interface Page {
  limit: number
  offset: number
}

/** A page of items, and how many there are over all pages. */
export interface List<Item> {
  items: Item[]
  count: number
  /** The offset of the next page; absent on the last one. */
  next?: number
}
