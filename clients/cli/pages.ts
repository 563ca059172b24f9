import { limits } from '../../protocol/limits.ts'
import type { Connection } from './connection.ts'
import { usage } from './failure.ts'

/** `{items, count}` of a list route, read page by page until `most` items are there or there are no more. */
export async function readPages<Item>(
  connection: Connection,
  path: string,
  query: Readonly<Record<string, string | undefined>>,
  most: number,
): Promise<{ items: Item[]; count: number }> {
  const items: Item[] = []
  for (;;) {
    const limit = Math.min(limits.LIST_LIMIT, most - items.length)
    const page = await connection.get<{ items: Item[]; count: number }>(path, {
      ...query,
      limit,
      offset: items.length,
    })
    items.push(...page.items)
    const isLast = page.items.length < limit || items.length >= page.count
    if (isLast || items.length >= most || items.length > limits.LIST_OFFSET) return { items, count: page.count }
  }
}

/** For commander: a positive count, with the flag in the refusal. */
export const countOf =
  (flag: string) =>
  (text: string): number => {
    if (!/^[1-9]\d{0,8}$/.test(text)) throw usage(`${flag} is ${JSON.stringify(text)}: a positive integer is needed.`)
    return Number(text)
  }
