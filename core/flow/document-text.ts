import type { NormalDocument } from '../../protocol/nouns/flow-document.ts'
import type { Steps } from '../steps.ts'

/** `JSON.stringify(document)`, a node a step: what the store keeps, and what crosses to it. 8 MiB take 40 ms, and cloning the objects more. */
export function* documentTextSteps(document: NormalDocument): Steps<string> {
  const members: string[] = []
  for (const [key, value] of Object.entries(document)) {
    const text = key === 'nodes' ? yield* nodesText(document.nodes) : JSON.stringify(value)
    if (text !== undefined) members.push(`${JSON.stringify(key)}:${text}`)
  }
  return `{${members.join(',')}}`
}

function* nodesText(nodes: NormalDocument['nodes']): Steps<string> {
  const texts: string[] = []
  for (const node of nodes) {
    texts.push(JSON.stringify(node))
    yield
  }
  return `[${texts.join(',')}]`
}
