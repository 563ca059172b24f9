import type { NormalDocument, NormalNode } from '../../protocol/nouns/flow-document.ts'
import { keyText } from '../../protocol/values/canonical-json.ts'
import { ramMb } from './resources.ts'

/** What a save does to the nodes, by id in document order. */
export interface Difference {
  /** New or changed: they start with fresh state. */
  restarted: string[]
  kept: string[]
  removed: string[]
}

/**
 * Everything about a node that makes it another node when it changes, as one text. Compared by value: the order of keys
 * in settings or env changes nothing, nor does `"2G"` for `2048`. Position, expected duration, cache and the order of ports are
 * not part of it.
 */
export function changeText(node: NormalNode): string {
  const byName = (a: { name: string }, b: { name: string }): number => (a.name < b.name ? -1 : 1)
  return keyText({
    type: node.type,
    language: node.language,
    source: node.source,
    settings: node.settings,
    inputs: [...node.ports.inputs].sort(byName),
    outputs: [...node.ports.outputs].sort(byName),
    resources: { ...node.resources, ram: ramMb(node.resources.ram) },
    timeout: node.timeout,
    device: node.device,
    isolation: node.isolation,
  })
}

export function difference(before: NormalDocument | null, after: NormalDocument): Difference {
  const old = new Map((before?.nodes ?? []).map(node => [node.id, node]))
  const result: Difference = { restarted: [], kept: [], removed: [] }
  for (const node of after.nodes) {
    const previous = old.get(node.id)
    old.delete(node.id)
    const same = previous !== undefined && changeText(previous) === changeText(node)
    ;(same ? result.kept : result.restarted).push(node.id)
  }
  result.removed.push(...old.keys())
  return result
}
