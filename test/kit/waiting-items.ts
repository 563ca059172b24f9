import { type WaitingItem, WaitingItems } from '../../server/store/waiting/items.ts'

/** Of a flow, numbered from 0. */
export function waitingItems(list: readonly WaitingItem[]): WaitingItems {
  const items = new WaitingItems()
  for (const [item, { message, version, depth, group, parent_seq, parent_ts }] of list.entries())
    items.queued(item, message, version, depth, group, parent_seq, parent_ts)
  return items
}
