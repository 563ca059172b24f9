import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { isName } from '../../protocol/names.ts'
import { usage } from './failure.ts'

const DOCUMENT = 'flow.json'

interface Written {
  id?: unknown
  type?: unknown
  language?: unknown
  source?: unknown
  settings?: Record<string, unknown>
}

/**
 * A flow as a folder: `flow.json` holds its document, `<node>.ts` (`.js`, when that is the node's language) the body of each
 * code node that has no source there. A setting `file` or `source` that names a file of the folder becomes an absolute path. Throws a usage failure when something cannot be read.
 */
export function readFlowFolder(folder: string): unknown {
  const document = parsed(join(folder, DOCUMENT)) as { nodes?: unknown } | null
  // The engine refuses an invalid document and names the place.
  const nodes: unknown[] = Array.isArray(document?.nodes) ? document.nodes : []
  for (const node of nodes as (Written | null)[]) {
    for (const setting of ['file', 'source']) {
      const path = node?.settings?.[setting]
      if (typeof path === 'string' && existsSync(resolve(folder, path)))
        node!.settings![setting] = resolve(folder, path)
    }
    if (node?.type !== 'code' || (node.source ?? null) !== null) continue
    if (typeof node.id !== 'string' || !isName(node.id)) continue
    const path = join(folder, `${node.id}.${node.language === 'js' ? 'js' : 'ts'}`)
    if (existsSync(path)) node.source = textOf(path)
  }
  return document
}

function parsed(path: string): unknown {
  try {
    return JSON.parse(textOf(path))
  } catch (error) {
    if (error instanceof SyntaxError) throw usage(`${path} is not valid JSON (${error.message}).`)
    throw error
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw usage(`${path} cannot be read (${(error as Error).message}).`)
  }
}
