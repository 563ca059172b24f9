import type { NormalDocument, NormalNode } from '../../protocol/nouns/flow-document.ts'
import { keyText } from '../../protocol/values/canonical-json.ts'
import type { Steps } from '../steps.ts'
import { ramMb } from './resources.ts'

/** The effect of a save on the nodes, by id in document order. */
export interface Difference {
  /** New or changed: they start with fresh state. */
  restarted: string[]
  kept: string[]
  removed: string[]
}

/**
 * Everything that makes a node another node when it changes, as one text. Compared by value: the order of keys in settings or
 * env does not matter, nor does `"2G"` for `2048`. Position, expected duration, cache and the order of ports are
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

/** A digest of a text, short and without collisions. */
export type Hash = (text: string) => string

const keys = new WeakMap<NormalNode, string>()

/** The digest of the change text, computed once for a node: those of a checked document do not change any more. */
export function changeKey(node: NormalNode, hash: Hash): string {
  let key = keys.get(node)
  if (key === undefined) keys.set(node, (key = hash(changeText(node))))
  return key
}

/** Those of all nodes, one a step: whoever asks for them later finds them. 20 us for a small node, 8 ms for the largest settings. */
export function* changeKeys(document: NormalDocument, hash: Hash): Steps<void> {
  for (const node of document.nodes) {
    changeKey(node, hash)
    yield
  }
}

export function difference(before: NormalDocument | null, after: NormalDocument, hash: Hash): Difference {
  const old = new Map((before?.nodes ?? []).map(node => [node.id, node]))
  const result: Difference = { restarted: [], kept: [], removed: [] }
  for (const node of after.nodes) {
    const previous = old.get(node.id)
    old.delete(node.id)
    const same = previous !== undefined && changeKey(previous, hash) === changeKey(node, hash)
    ;(same ? result.kept : result.restarted).push(node.id)
  }
  result.removed.push(...old.keys())
  return result
}
