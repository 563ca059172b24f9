import type { NormalDocument } from '../../protocol/nouns/flow-document.ts'
import type { Steps } from '../steps.ts'

/** A document as JSON on its way to another thread: a text for each node, and one for all the rest. Cloning the objects takes longer. */
export interface DocumentPieces {
  rest: string
  nodes: string[]
}

export function documentPieces({ nodes, ...rest }: NormalDocument): DocumentPieces {
  return { rest: JSON.stringify(rest), nodes: nodes.map(node => JSON.stringify(node)) }
}

/** The document of the pieces, a node a step. */
export function* documentOfPieces({ rest, nodes: texts }: DocumentPieces): Steps<NormalDocument> {
  const nodes: NormalDocument['nodes'] = []
  for (const text of texts) {
    nodes.push(JSON.parse(text) as NormalDocument['nodes'][number])
    yield
  }
  return { nodes, ...(JSON.parse(rest) as Omit<NormalDocument, 'nodes'>) }
}

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
