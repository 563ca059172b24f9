import type { NormalDocument, NormalNode } from '../../protocol/nouns/flow-document.ts'
import { canonical } from '../../protocol/values/canonical-json.ts'

/** What of a node runs as code: its body, and the variables that its processes begin with. */
const codeOf = ({ language, source, resources, isolation }: NormalNode): string =>
  JSON.stringify([language, source, isolation, Object.entries(resources.env).sort()])

/** Has a node anything that could run as code? */
const hasCode = ({ source, resources }: NormalNode): boolean => source !== null || Object.keys(resources.env).length > 0

/** The nodes that reach beyond the engine by settings that the flow did not have under that id, in document order. */
export function nodesWithNewReach(
  before: NormalDocument | null,
  after: NormalDocument,
  reaches: (node: NormalNode) => boolean,
): string[] {
  const old = new Map((before?.nodes ?? []).map(node => [node.id, node]))
  const isAsBefore = ({ id, type, settings }: NormalNode): boolean => {
    const previous = old.get(id)
    return previous?.type === type && canonical(previous.settings) === canonical(settings)
  }
  return after.nodes.filter(node => reaches(node) && !isAsBefore(node)).map(({ id }) => id)
}

/** The nodes whose code is not what the flow had under that id, in document order. Removing a node brings no code. */
export function nodesWithNewCode(before: NormalDocument | null, after: NormalDocument): string[] {
  const old = new Map((before?.nodes ?? []).map(node => [node.id, node]))
  return after.nodes
    .filter(node => {
      const previous = old.get(node.id)
      if (previous === undefined || previous.type !== node.type) return hasCode(node)
      return codeOf(previous) !== codeOf(node)
    })
    .map(({ id }) => id)
}
