import { limits } from '../../protocol/limits.ts'
import type { Calls, Query } from './calls.ts'

export interface List<Item> {
  items: Item[]
  /** Over all pages. */
  count: number
  /** The offset of the next page: there is one whenever there are further items, whatever the page ended at. */
  next?: number
}

/** `{items, count}` of a list route, read page by page until `most` items are there or there are no more, with what else the last page has. */
export async function readPages<Item, Page extends List<Item> = List<Item>>(
  calls: Calls,
  path: string,
  query: Query = {},
  most: number = Number.POSITIVE_INFINITY,
): Promise<Omit<Page, 'next'>> {
  const items: Item[] = []
  for (;;) {
    const limit = Math.min(limits.LIST_LIMIT, most - items.length)
    const page = await calls.get<Page>(path, { ...query, limit, offset: items.length })
    items.push(...page.items)
    const { next, ...rest } = page
    if (next === undefined || items.length >= most || items.length > limits.LIST_OFFSET) return { ...rest, items }
  }
}
