import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FlowDocument } from '../../protocol/flow-document.ts'

export interface Example {
  /** The name to store the flow under: the folder's. */
  name: string
  document: FlowDocument
}

/**
 * The flows that greet a newcomer. Each folder beside this file is one: `flow.json` holds the wiring, `<node>.ts` the body
 * of each code node, and a setting called `file` names a file of the folder (it becomes an absolute path here).
 */
export function examples(): Example[] {
  return readdirSync(import.meta.dirname, { withFileTypes: true })
    .filter(entry => entry.isDirectory())
    .map(entry => ({ name: entry.name, document: read(join(import.meta.dirname, entry.name)) }))
}

function read(folder: string): FlowDocument {
  const document = JSON.parse(readFileSync(join(folder, 'flow.json'), 'utf8')) as FlowDocument
  for (const node of document.nodes) {
    if (node.type === 'code') node.source = readFileSync(join(folder, `${node.id}.ts`), 'utf8')
    if (typeof node.settings?.['file'] === 'string') node.settings['file'] = join(folder, node.settings['file'])
  }
  return document
}
