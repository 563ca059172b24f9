import type { NormalDocument } from '../../protocol/nouns/flow-document.ts'

/**
 * Another flow's document after flow `from` became `to`: its ports read `to.m` where they read `from.m`. Null when there is
 * nothing to rewrite. The renamed flow's own document names its messages without the flow and stays as it is; check it again
 * under the new name, since a port that read `to.m` reads its own message then.
 */
export function renameReferences(document: NormalDocument, from: string, to: string): NormalDocument | null {
  const prefix = `${from}.`
  const reads = document.nodes.some(node => node.ports.inputs.some(port => port.message.startsWith(prefix)))
  if (!reads) return null
  return {
    ...document,
    nodes: document.nodes.map(node => ({
      ...node,
      ports: {
        ...node.ports,
        inputs: node.ports.inputs.map(port =>
          port.message.startsWith(prefix) ? { ...port, message: `${to}.${port.message.slice(prefix.length)}` } : port,
        ),
      },
    })),
  }
}
