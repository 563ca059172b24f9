import { checkDocument, type Rules } from '../../core/flow/check.ts'
import { difference } from '../../core/flow/difference.ts'
import { PLACEMENT } from '../../core/memory/counters.ts'
import { ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import { isName } from '../../protocol/names.ts'
import type { EventType } from '../../protocol/nouns/event.ts'
import type { SavedFlow, SaveFlow } from '../../protocol/nouns/flow.ts'
import type { FrontMemory } from '../lanes/front-memory.ts'
import type { NodeHealth } from '../observe/node-health.ts'
import type { Store } from '../store/front/client.ts'
import { Bodies } from './bodies.ts'
import type { Catalog } from './catalog.ts'
import type { Deploy } from './deploy.ts'
import type { EndedFlows } from './ended-flows.ts'
import { type LiveFlow, newFlow, written } from './flow.ts'
import type { MessageMap } from './message-map.ts'
import type { Names } from './names.ts'
import { clearRetyped, dtypesOf } from './seeding.ts'
import type { Show } from './show.ts'

export interface SaveParts {
  front: FrontMemory
  store: Pick<Store, 'saveFlow'>
  catalog: Catalog
  names: Names
  map: MessageMap
  bodies: Bodies
  health: NodeHealth
  ended: EndedFlows
  rules: Rules
  deploy: Deploy
  show: Show
  /** An engine event that is kept and sent to those that asked for events. */
  announce(type: EventType, flow: string, more?: Record<string, unknown>): void
}

/**
 * Saves a document as the newest version of a flow. It is durable before it is deployed, and deployed before it is answered.
 *
 *   document -> check -> bodies -> store (synced) -> deploy
 *
 * Called in turn with every other change: what its check has seen holds until its deploy.
 */
export async function save(
  parts: SaveParts,
  name: string,
  request: SaveFlow,
  author: string,
  action: 'save' | 'restore',
): Promise<SavedFlow> {
  const { catalog, store, names, bodies, rules } = parts
  if (!isName(name)) {
    throw new ServiceError('validation', `"${name}" is no flow name.`, {
      errors: [{ loc: 'path.name', msg: 'is no flow name' }],
    })
  }
  const before = catalog.find(name)
  // Who edits a flow by hand says nothing of where it came from, and it came from there all the same.
  const origin = request.origin === undefined ? (before?.origin ?? null) : request.origin
  if (before === undefined && catalog.size >= limits.FLOWS)
    throw new ServiceError('too_many_flows', `There are ${catalog.size} flows.`)
  const checked = checkDocument(name, request.document, catalog.wiring, rules)
  const { document } = checked
  names.assertRoom(document.inputs.length + document.nodes.length * 2, document.nodes.length)
  if (bodies.isPassDue) bodies.prune(catalog.digests())
  for (const node of document.nodes) {
    const digest = Bodies.digest(node)
    const body = checked.bodies.get(node.id)
    if (digest !== null && body !== undefined) bodies.put(digest, body.code)
  }
  const commit = await store.saveFlow({
    name,
    document,
    enabled: before?.enabled ?? true,
    author,
    message: request.message ?? '',
    action,
    origin,
    base_version: request.base_version ?? null,
  })
  const old = before?.document ?? null
  const change = difference(old, document)
  const flow = before ?? (await emptied(parts, newFlow(name, names.flow(name), document)))
  Object.assign(flow, { document, origin, updated_by: author })
  written(flow, commit)
  catalog.add(flow)
  parts.health.forget(name, [...change.restarted, ...change.removed])
  if (old !== null) clearRetyped(flow, old, parts.front, parts.map)
  parts.deploy.deploy(flow, true)
  for (const id of change.restarted) parts.front.counters.setPlacement(names.node(`${name}.${id}`), PLACEMENT.inline)
  parts.announce('flow_saved', name, { version: flow.version, commit: flow.commit, by: author })
  const { version } = flow
  const { restarted, kept } = change
  return { name, version, commit: flow.commit, restarted, kept, issues: parts.show.issues(flow) }
}

/** The new flow, when nothing of an earlier one stands in its rows any more. */
async function emptied({ names, ended }: SaveParts, flow: LiveFlow): Promise<LiveFlow> {
  const { name, index, document } = flow
  const messages = [...dtypesOf(document).keys()].map(message => names.message(`${name}.${message}`))
  await ended.emptied({ name, index, messages })
  return flow
}
