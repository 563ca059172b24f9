import { limits } from '../../../protocol/limits.ts'
import type { NormalDocument } from '../../../protocol/nouns/flow-document.ts'
import type { SearchKind } from '../../../protocol/nouns/search/found.ts'

/** One thing that can be found. */
export interface Entry {
  readonly kind: SearchKind
  readonly name: string
  readonly flow: string | null
  readonly text: string
}

/** A flow, its messages, and its nodes with their settings and sources. */
export function* flowEntries(flow: string, { nodes, inputs }: NormalDocument): Iterable<Entry> {
  yield { kind: 'flow', name: flow, flow, text: '' }
  const messages = new Map<string, string>()
  for (const { message, dtype } of inputs) messages.set(message, dtype)
  for (const { id, type, settings, source, ports } of nodes) {
    for (const { message, dtype } of ports.outputs) messages.set(message, dtype)
    yield {
      kind: 'node',
      name: `${flow}.${id}`,
      flow,
      text: kept([type, ...stringsIn(settings), source ?? ''].join('\n')),
    }
  }
  for (const [message, dtype] of messages) yield { kind: 'message', name: `${flow}.${message}`, flow, text: dtype }
}

/** The entry of a record; for a secret only its name. */
export function recordEntry(kind: 'dashboard' | 'panel' | 'secret', id: string, body: string): Entry | null {
  const record = JSON.parse(body) as Record<string, unknown>
  const { name } = record
  const shown = typeof name === 'string' ? name : id
  if (kind === 'secret') return { kind, name: shown, flow: null, text: '' }
  if (kind === 'panel') return { kind, name: shown, flow: null, text: kept(stringsIn(record['dashboards']).join('\n')) }
  // The record of a deleted dashboard keeps its versions.
  if (record['document'] === null) return null
  return { kind, name: shown, flow: null, text: kept(stringsIn(record['document']).join('\n')) }
}

/** All texts in a value, with the names of members, since people search for names of settings. */
function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value === 'number') return [String(value)]
  if (Array.isArray(value)) return value.flatMap(stringsIn)
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, member]) => [key, ...stringsIn(member)])
}

/** Marks around a match in a snippet. */
export const MARK_FROM = '\u0002'
export const MARK_TO = '\u0003'

/** Removes the marks of snippets from a text. */
export const kept = (text: string): string =>
  text.slice(0, limits.SEARCH_TEXT_CHARACTERS).replaceAll(MARK_FROM, ' ').replaceAll(MARK_TO, ' ')
