import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FlowDocument } from '../../protocol/nouns/flow-document.ts'

export interface Example {
  /** The name to store the flow under: the folder's. */
  name: string
  document: FlowDocument
}

/** Those of the folders beside this file that an empty installation begins with: they run live. The others are put by hand. */
const GREETING = ['host', 'machine', 'bottles']

/** The flows that greet a newcomer. */
export const examples = (): Example[] => GREETING.map(example)

/**
 * The flow of a folder beside this file: `flow.json` holds the wiring, `<node>.ts` the body of each code node, and a setting
 * called `file`, or a `source` that begins with `./`, names a file of the folder (it becomes an absolute path here).
 */
export function example(name: string): Example {
  const folder = join(import.meta.dirname, name)
  const document = JSON.parse(readFileSync(join(folder, 'flow.json'), 'utf8')) as FlowDocument
  for (const node of document.nodes) {
    if (node.type === 'code') node.source = readFileSync(join(folder, `${node.id}.ts`), 'utf8')
    const { file, source } = node.settings ?? {}
    if (typeof file === 'string') node.settings!['file'] = join(folder, file)
    if (typeof source === 'string' && source.startsWith('./')) node.settings!['source'] = join(folder, source)
  }
  return { name, document }
}
