import { readFile } from 'node:fs/promises'
import { nextTurn } from '../watch/slices.ts'

/** Static imports; what it misses is loaded all the same, together with the module that names it. */
const IMPORT = /(?:^|\n)\s*(?:import|export)\b[^'"`;]*?\bfrom\s*['"]([^'"]+)['"]|(?:^|\n)\s*import\s*['"]([^'"]+)['"]/g
/** Modules of other packages, which this engine has loaded long before. */
const ENTERED = /\/node_modules\/(@modelcontextprotocol|zod)\/|\/server\/mcp\//

/**
 * Loads a module and what it imports one by one, those that import nothing first, with a turn of the event loop between them. Loaded
 * at once, the packages of MCP hold the front for 150 ms; the longest of them alone takes 15.
 */
export async function loadInTurns<Module>(url: URL): Promise<Module> {
  const seen = new Set<string>()
  const load = async (at: string): Promise<void> => {
    if (seen.has(at)) return
    seen.add(at)
    for (const [, from, plain] of (await readFile(new URL(at), 'utf8')).matchAll(IMPORT)) {
      const next = resolved((from ?? plain)!, at)
      if (next !== null) await load(next)
    }
    await import(at)
    await nextTurn()
  }
  await load(url.href)
  return (await import(url.href)) as Module
}

function resolved(specifier: string, by: string): string | null {
  if (specifier.startsWith('node:')) return null
  try {
    const url = specifier.startsWith('.') ? new URL(specifier, by).href : import.meta.resolve(specifier)
    return ENTERED.test(url) ? url : null
  } catch {
    return null
  }
}
