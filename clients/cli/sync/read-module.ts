import { registerHooks } from 'node:module'
import { relative, sep } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { NormalDocument } from '../../../protocol/nouns/flow-document.ts'
import { type ComposedFlow, FLOW_MARK } from '../../sdk/flow.ts'
import { type AnyNode, isNode, naming } from '../../sdk/node.ts'
import type { NodePlace } from './shim.ts'

/**
 * The program of a child process: imports one module of the user, and tells its parent which flows the module exports and where
 * their nodes are defined. What the module does to its process affects only this child.
 */

/** The only argument, as JSON. */
export interface ReadModule {
  readonly file: string
  /** The root of the repository. */
  readonly root: string
}

export interface FoundFlow {
  readonly name: string
  /** Without sources. */
  readonly document: NormalDocument
  /** By node id. */
  readonly places: Readonly<Record<string, NodePlace>>
}

export type ModuleAnswer =
  /** `files` are those of the repository that were imported: paths from its root. */
  { readonly flows: readonly FoundFlow[]; readonly files: readonly string[] } | { readonly refused: string }

interface Exported {
  readonly url: string
  readonly name: string
}

const MODULE = /\.[cm]?[jt]s$/

/** Records which modules were imported, in which order, and by which module. */
class Imports {
  readonly #root: string
  readonly #by = new Map<string, Set<string>>()

  constructor(root: string) {
    this.#root = root
    registerHooks({
      resolve: (specifier, context, next) => {
        const resolved = next(specifier, context)
        this.#add(context.parentURL ?? '', resolved.url)
        return resolved
      },
    })
  }

  #add(importer: string, imported: string): void {
    const known = this.#by.get(importer)
    if (known === undefined) this.#by.set(importer, new Set([imported]))
    else known.add(imported)
    if (!this.#by.has(imported)) this.#by.set(imported, new Set())
  }

  /** The path from the root; null for a file outside the repository. */
  pathOf(url: string): string | null {
    if (!url.startsWith('file:') || url.includes('?') || url.includes('#')) return null
    const path = relative(this.#root, fileURLToPath(url)).split(sep).join('/')
    return path.startsWith('../') || path.split('/').includes('node_modules') ? null : path
  }

  get own(): string[] {
    return [...this.#by.keys()].filter(url => this.pathOf(url) !== null)
  }

  leads(from: string, to: string, seen = new Set<string>()): boolean {
    if (seen.has(from)) return false
    seen.add(from)
    const imported = this.#by.get(from) ?? new Set()
    return imported.has(to) || [...imported].some(next => this.leads(next, to, seen))
  }
}

/** Every node that a module of the repository exports. */
async function exportedNodes(imports: Imports): Promise<Map<AnyNode, Exported[]>> {
  const found = new Map<AnyNode, Exported[]>()
  for (const url of imports.own.filter(one => MODULE.test(one))) {
    // It was imported before, or its import failed and the importing module went on.
    const exported: Record<string, unknown> = await import(url).catch(() => ({}))
    for (const [name, value] of Object.entries(exported))
      if (isNode(value)) found.set(value, [...(found.get(value) ?? []), { url, name }])
  }
  return found
}

/** Of several modules that export a node, the one that defines it: it imports none of the others. */
function definingOf(places: readonly Exported[], imports: Imports): Exported {
  const isRoot = (one: Exported) => !places.some(other => other.url !== one.url && imports.leads(one.url, other.url))
  const [first] = [...places].sort(
    (a, b) =>
      Number(isRoot(b)) - Number(isRoot(a)) ||
      Number(a.name === 'default') - Number(b.name === 'default') ||
      (a.url < b.url ? -1 : Number(a.url > b.url)),
  )
  return first!
}

async function read({ file, root }: ReadModule): Promise<ModuleAnswer> {
  const imports = new Imports(root)
  const module: Record<string, unknown> = await import(pathToFileURL(file).href)
  const flows = [...new Set(Object.values(module))].filter(isFlow)
  const nodes = await exportedNodes(imports)
  const defined = new Map([...nodes].map(([node, places]) => [node, definingOf(places, imports)]))
  const found: FoundFlow[] = []
  for (const flow of flows) {
    const lost = flow.uses.find(({ node }) => !defined.has(node))
    if (lost !== undefined) {
      const what = naming({ id: lost.id ?? lost.node.definition.id })
      const text = `Flow "${flow.name}": ${what} is exported by no file of the repository. Export it, so that its body can import it.`
      return { refused: text }
    }
    try {
      const document = flow.document(...[...defined].map(([node, { name }]) => ({ [name]: node })))
      const places = flow.uses.map(({ node }, at): [string, NodePlace] => {
        const { url, name } = defined.get(node)!
        return [document.nodes[at]!.id, { file: imports.pathOf(url)!, name, shape: node.definition.shape }]
      })
      found.push({ name: flow.name, document, places: Object.fromEntries(places) })
    } catch (error) {
      if ((error as Error)?.name !== 'SdkError') throw error
      return { refused: (error as Error).message }
    }
  }
  return { flows: found, files: imports.own.map(url => imports.pathOf(url)!) }
}

const isFlow = (value: unknown): value is ComposedFlow =>
  typeof value === 'object' && value !== null && (value as Partial<ComposedFlow>)[FLOW_MARK] === 1

// The parent has ended. A module that blocks the event loop ends with its terminal.
process.once('disconnect', () => process.exit())
// Unref'd, so that Node notices a module that waits forever.
process.channel?.unref()

const answer = await read(JSON.parse(process.argv[2]!) as ReadModule)
// Exit when the answer is sent, even if the module has left something running.
process.send!(answer, () => process.exit(0))
