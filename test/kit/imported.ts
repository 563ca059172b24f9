import { type Node, parse } from 'acorn'
import { stripHere } from '../../threads/nodes/strip.ts'

export interface Imported {
  /** As written: `../core/x.ts`, `node:fs`, `#atomics`. */
  from: string
  dynamic: boolean
}

/**
 * What a TypeScript source imports, found by parsing it. Type imports count too: stripping would leave them out, so they
 * are made plain imports before. An `import(...)` of anything but a literal names nothing that could be checked.
 */
export function importedBy(source: string): Imported[] {
  return runtimeImports(source.replace(/^(import|export) type (?=[\w*{])(?!\w+\s*(<|=[^>]))/gm, '$1 '))
}

/** The same without type imports: what loads when it does. */
export function runtimeImports(source: string): Imported[] {
  const stripped = stripHere(source)
  if (!('code' in stripped)) throw new SyntaxError(`line ${stripped.line}: ${stripped.text}`)
  const program = parse(stripped.code, { ecmaVersion: 'latest', sourceType: 'module' })
  const found: Imported[] = []
  visit(program, node => {
    const literal = node.source as { value?: unknown } | null | undefined
    if (typeof literal?.value !== 'string') return
    if (node.type === 'ImportExpression') found.push({ from: literal.value, dynamic: true })
    else if (/^(Import|Export)\w*Declaration$/.test(node.type)) found.push({ from: literal.value, dynamic: false })
  })
  return found
}

type AnyNode = Node & { source?: unknown }

function visit(node: AnyNode, enter: (node: AnyNode) => void): void {
  enter(node)
  for (const child of Object.values(node)) {
    for (const item of Array.isArray(child) ? child : [child]) {
      if (item !== null && typeof item === 'object' && typeof (item as AnyNode).type === 'string') {
        visit(item as AnyNode, enter)
      }
    }
  }
}
