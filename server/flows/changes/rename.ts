import { documentTextSteps } from '../../../core/flow/document-text.ts'
import { factsOf } from '../../../core/flow/facts.ts'
import { renameReferences } from '../../../core/flow/rename.ts'
import { ServiceError } from '../../../protocol/errors.ts'
import { isName } from '../../../protocol/names.ts'
import type { EventType } from '../../../protocol/nouns/event.ts'
import type { SavedFlow } from '../../../protocol/nouns/flow.ts'
import type { NormalDocument } from '../../../protocol/nouns/flow-document.ts'
import type { Dashboards } from '../../dashboards/dashboards.ts'
import type { NodeHealth } from '../../health/node-health.ts'
import type { Store } from '../../store/front/client.ts'
import { inSlices } from '../../watch/slices.ts'
import type { Catalog } from '../catalog.ts'
import { type LiveFlow, written } from '../flow.ts'
import type { MessageMap } from '../message-map.ts'
import type { Names } from '../names.ts'
import type { Show } from '../show.ts'
import type { Deploy } from './deploy.ts'

export interface RenameParts {
  store: Pick<Store, 'renameFlow'>
  catalog: Catalog
  names: Names
  map: MessageMap
  health: NodeHealth
  /** Dashboards that name the flow are rewritten with it. */
  dashboards: Pick<Dashboards, 'renaming'>
  deploy: Deploy
  show: Show
  announce(type: EventType, flow: string, more?: Record<string, unknown>): void
  /** Batch runs that wait or run have the new name. */
  renamed(from: string, to: string): void
  /** Messages of the flow went, and come back under other names. */
  changed(flow: string, removed: readonly number[], is_renamed: true): void
}

/** References in other flows and in dashboards are rewritten in the same commit. */
export async function rename(parts: RenameParts, from: string, to: string, author: string): Promise<SavedFlow> {
  const { catalog, deploy } = parts
  const flow = catalog.existing(from)
  if (!isName(to))
    throw new ServiceError('validation', `"${to}" is not a valid flow name.`, {
      errors: [{ loc: 'body.to', msg: 'is not a valid flow name' }],
    })
  if (catalog.find(to) !== undefined) throw new ServiceError('flow_exists', `Flow "${to}" exists already.`)
  const rewritten: { name: string; document: NormalDocument }[] = []
  for (const name of catalog.wiring.referencing(from)) {
    const other = catalog.find(name)
    const document = other && renameReferences(other.document, from, to)
    if (document) rewritten.push({ name, document })
  }
  const texts: { name: string; document: string }[] = []
  for (const { name, document } of rewritten)
    texts.push({ name, document: await inSlices(documentTextSteps(document)) })
  const commit = await parts.dashboards.renaming(from, to, author, records =>
    parts.store.renameFlow({ from, to, rewritten: texts, records, author }),
  )
  move(parts, flow, from, to)
  written(flow, commit)
  flow.updated_by = author
  for (const { name, document } of rewritten) {
    const other = catalog.existing(name)
    other.document = document
    const entry = commit.rewritten.find(one => one.name === name)
    if (entry) written(other, entry)
    catalog.wiring.set(factsOf(name, document, other.enabled))
  }
  await deploy.deploy(flow, false)
  for (const { name } of rewritten) await deploy.redeploy(name)
  parts.announce('flow_renamed', to, { from, by: author })
  const kept = flow.document.nodes.map(node => node.id)
  return { name: to, version: flow.version, commit: flow.commit, restarted: [], kept, issues: parts.show.issues(flow) }
}

/** The rows stay; what stood under the old name stands under the new one. */
function move(parts: RenameParts, flow: LiveFlow, from: string, to: string): void {
  const { catalog, names, map, health } = parts
  const ids = flow.document.nodes.map(node => node.id)
  const messages = map.ofFlow(from).map(message => message.name.slice(from.length + 1))
  const gone = map.remove(from)
  catalog.wiring.remove(from)
  catalog.delete(from)
  names.rename(from, to, messages, ids)
  health.rename(from, to, ids)
  flow.name = to
  catalog.add(flow)
  parts.renamed(from, to)
  parts.changed(from, gone, true)
}
