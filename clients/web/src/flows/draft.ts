import type { FlowDocument, FlowNode } from '../../../../protocol/nouns/flow-document.ts'

/** Changes of a flow that are not deployed yet, and the version that they began from. Kept in the browser, so that a reload loses nothing. */
export interface Draft {
  readonly base_version: number
  readonly document: FlowDocument
}

const keyOf = (flow: string): string => `draft ${flow}`

export function keptDraft(flow: string, storage: Pick<Storage, 'getItem'>): Draft | null {
  try {
    const text = storage.getItem(keyOf(flow))
    return text === null ? null : (JSON.parse(text) as Draft)
  } catch {
    return null
  }
}

/** Null ends it. A browser that keeps nothing more keeps the draft in the page alone. */
export function keepDraft(flow: string, draft: Draft | null, storage: Pick<Storage, 'setItem' | 'removeItem'>): void {
  try {
    if (draft === null) storage.removeItem(keyOf(flow))
    else storage.setItem(keyOf(flow), JSON.stringify(draft))
  } catch {
    // There is no room.
  }
}

export const withNode = (document: FlowDocument, id: string, change: Partial<FlowNode>): FlowDocument => ({
  ...document,
  nodes: document.nodes.map(node => (node.id === id ? { ...node, ...change } : node)),
})

/** Ids of nodes that are added, removed, or not alike; a position that moved counts as none. */
export function changedNodes(before: FlowDocument, after: FlowDocument): string[] {
  const told = ({ position: _, ...node }: FlowNode): string => JSON.stringify(node)
  const old = new Map(before.nodes.map(node => [node.id, told(node)]))
  const changed = after.nodes.filter(node => old.get(node.id) !== told(node)).map(({ id }) => id)
  const kept = new Set(after.nodes.map(({ id }) => id))
  return [...changed, ...before.nodes.filter(({ id }) => !kept.has(id)).map(({ id }) => id)]
}

/** Line by line, what two texts do not share at their ends: enough to see a change of a body. */
export function lineDifference(
  before: string,
  after: string,
): { readonly sign: ' ' | '-' | '+'; readonly text: string }[] {
  const [a, b] = [before.split('\n'), after.split('\n')]
  let start = 0
  while (start < Math.min(a.length, b.length) && a[start] === b[start]) start++
  let end = 0
  while (end < Math.min(a.length, b.length) - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++
  const line = (sign: ' ' | '-' | '+') => (text: string) => ({ sign, text })
  return [
    ...a.slice(Math.max(0, start - 2), start).map(line(' ')),
    ...a.slice(start, a.length - end).map(line('-')),
    ...b.slice(start, b.length - end).map(line('+')),
    ...a.slice(a.length - end, a.length - end + 2).map(line(' ')),
  ]
}
