import { isDeepStrictEqual } from 'node:util'
import type { Flow, FlowOrigin } from '../../../protocol/nouns/flow.ts'
import type { NormalDocument, NormalNode } from '../../../protocol/nouns/flow-document.ts'
import type { FoundFlow } from './read-module.ts'
import { sha256, shimOf } from './shim.ts'

/** One place where a flow in code and the stored one differ; `before` is absent for what comes, `after` for what goes. */
export interface SyncDifference {
  /** Of what: a node's id, an input's message; null for the flow itself. */
  readonly node: string | null
  readonly input: string | null
  /** Which field of it: `settings.window`; null for the whole. */
  readonly field: string | null
  readonly before?: unknown
  readonly after?: unknown
}

/** What a sync of one flow comes to. */
export interface SyncPlan {
  readonly name: string
  /** Of the module that exports it. */
  readonly file: string
  readonly places: FoundFlow['places']
  /** 0: there is none yet. */
  readonly version: number
  readonly document: NormalDocument
  readonly origin: FlowOrigin
  readonly differences: readonly SyncDifference[]
  readonly isChanged: boolean
  /** What somebody wrote by hand and this sync would write over: sentences. */
  readonly hand_edits: readonly string[]
}

/** Where the uploaded documents come from, and from where their bodies import it. */
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

/** With sources; a node stays where somebody put it on the canvas. */
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

/** Bodies that are not as the last sync left them. A node without a body holds nothing that could be lost. */
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
