import { isDeepStrictEqual } from 'node:util'
import type { Flow, FlowOrigin } from '../../../protocol/nouns/flow.ts'
import type { NormalDocument, NormalNode } from '../../../protocol/nouns/flow-document.ts'
import type { FoundFlow } from './read-module.ts'
import { sha256, shimOf } from './shim.ts'

/** One difference between a flow in code and the stored flow. `before` is absent for an addition, `after` for a removal. */
export interface SyncDifference {
  /** The id of the node; null for an input or the flow itself. */
  readonly node: string | null
  readonly input: string | null
  /** The field, such as `settings.window`; null for the whole node or input. */
  readonly field: string | null
  readonly before?: unknown
  readonly after?: unknown
}

/** What a sync of one flow would do. */
export interface SyncPlan {
  readonly name: string
  /** The path of the module that exports it. */
  readonly file: string
  readonly places: FoundFlow['places']
  /** The stored version; 0 when there is none yet. */
  readonly version: number
  readonly document: NormalDocument
  readonly origin: FlowOrigin
  readonly differences: readonly SyncDifference[]
  readonly isChanged: boolean
  /** Changes by hand that this sync would overwrite, as sentences. */
  readonly hand_edits: readonly string[]
}

/** The origin of the uploaded documents, and the folder from which their bodies import it. */
export interface SyncSource {
  readonly root: string
  readonly bodies_folder: string
  readonly repository: string
  readonly commit: string
}

export function planOf(found: FoundFlow, file: string, stored: Flow | null, source: SyncSource): SyncPlan {
  const { name, places } = found
  const before = stored === null ? null : (stored.document as NormalDocument)
  const document = completed(found, before, source)
  const digests = Object.fromEntries(document.nodes.map(node => [node.id, sha256(node.source!)]))
  const origin = { repository: source.repository, commit: source.commit, digests }
  const known = (stored?.origin ?? null) as FlowOrigin | null
  const differences = differencesOf(before, document)
  const isSame = known?.repository === origin.repository && isDeepStrictEqual({ ...known.digests }, digests)
  return {
    name,
    file,
    places,
    version: stored?.version ?? 0,
    document,
    origin,
    differences,
    isChanged: differences.length > 0 || !isSame,
    hand_edits: before === null ? [] : handEdits(name, before, document, known),
  }
}

/** The document with sources. Nodes keep their stored position on the canvas. */
function completed({ document, places }: FoundFlow, before: NormalDocument | null, source: SyncSource): NormalDocument {
  const positions = new Map((before?.nodes ?? []).map(node => [node.id, node.position]))
  return {
    ...document,
    nodes: document.nodes.map(node => ({
      ...node,
      source: shimOf(places[node.id]!, source.root, source.bodies_folder),
      position: positions.get(node.id) ?? node.position,
    })),
  }
}

/** Bodies that were changed since the last sync. A node without a body has nothing to lose. */
function handEdits(flow: string, before: NormalDocument, after: NormalDocument, origin: FlowOrigin | null): string[] {
  const next = new Map(after.nodes.map(node => [node.id, node.source]))
  return before.nodes.flatMap(({ id, source }) => {
    const digest = origin?.digests?.[id]
    if (source === null || source === next.get(id) || sha256(source) === digest) return []
    const what = digest === undefined ? 'was written by hand, not by a sync' : 'was edited by hand since the last sync'
    return [`${flow}.${id}: its body ${what}`]
  })
}

function differencesOf(before: NormalDocument | null, after: NormalDocument): SyncDifference[] {
  const nodes = compared(before?.nodes ?? [], after.nodes, node => node.id, nodeFields)
  const inputs = compared(
    before?.inputs ?? [],
    after.inputs,
    input => input.message,
    input => new Map(Object.entries(input)),
  )
  const found = [
    ...nodes.map(({ key, ...rest }) => ({ node: key, input: null, ...rest })),
    ...inputs.map(({ key, ...rest }) => ({ node: null, input: key, ...rest })),
  ]
  if (before === null || found.length > 0) return found
  const ids = (document: NormalDocument): string[] => document.nodes.map(node => node.id)
  if (isDeepStrictEqual(ids(before), ids(after))) return []
  return [{ node: null, input: null, field: 'order of nodes', before: ids(before), after: ids(after) }]
}

interface Compared {
  readonly key: string
  readonly field: string | null
  readonly before?: unknown
  readonly after?: unknown
}

function compared<Item>(
  before: readonly Item[],
  after: readonly Item[],
  keyOf: (item: Item) => string,
  fieldsOf: (item: Item) => ReadonlyMap<string, unknown>,
): Compared[] {
  const old = new Map(before.map(item => [keyOf(item), item]))
  const found: Compared[] = after.flatMap(item => {
    const key = keyOf(item)
    const previous = old.get(key)
    old.delete(key)
    return previous === undefined
      ? [{ key, field: null, after: item }]
      : changed(key, fieldsOf(previous), fieldsOf(item))
  })
  return [...found, ...[...old].map(([key, item]) => ({ key, field: null, before: item }))]
}

function changed(key: string, before: ReadonlyMap<string, unknown>, after: ReadonlyMap<string, unknown>): Compared[] {
  return [...new Set([...before.keys(), ...after.keys()])]
    .filter(field => !isDeepStrictEqual(before.get(field), after.get(field)))
    .map(field => ({
      key,
      field,
      ...(before.has(field) ? { before: before.get(field) } : {}),
      ...(after.has(field) ? { after: after.get(field) } : {}),
    }))
}

/** A node as one list of fields: `settings.window`, `inputs.x.message`, `timeout`. */
function nodeFields({ settings, ports, resources, ...rest }: NormalNode): Map<string, unknown> {
  const fields = new Map<string, unknown>(Object.entries(rest))
  const add = (place: string, object: object) => {
    for (const [name, value] of Object.entries(object)) fields.set(`${place}.${name}`, value)
  }
  add('settings', settings)
  for (const side of ['inputs', 'outputs'] as const)
    for (const { name, ...port } of ports[side]) add(`${side}.${name}`, port)
  add('resources', resources)
  return fields
}
