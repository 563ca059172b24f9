import { isDeepStrictEqual } from 'node:util'
import { checkSteps, type Rules } from '../../../core/flow/check.ts'
import { changeKeys, type Difference, difference } from '../../../core/flow/difference.ts'
import { documentTextSteps } from '../../../core/flow/document-text.ts'
import { PLACEMENT } from '../../../core/memory/counters.ts'
import type { Steps } from '../../../core/steps.ts'
import { ServiceError } from '../../../protocol/errors.ts'
import { limits } from '../../../protocol/limits.ts'
import type { EventType } from '../../../protocol/nouns/event.ts'
import type { SavedFlow, SaveFlow } from '../../../protocol/nouns/flow.ts'
import type { NormalDocument } from '../../../protocol/nouns/flow-document.ts'
import type { NodeHealth } from '../../health/node-health.ts'
import type { FrontMemory } from '../../lanes/front-memory.ts'
import type { Store } from '../../store/front/client.ts'
import { inSlices, nextTurn } from '../../watch/slices.ts'
import { Bodies } from '../bodies.ts'
import type { Catalog } from '../catalog.ts'
import { type LiveFlow, newFlow, written } from '../flow.ts'
import type { Names } from '../names.ts'
import type { Show } from '../show.ts'
import { buryStates, clearMessage, dropHeld, dropTimed } from './bury.ts'
import { assertName, refuseCode } from './check.ts'
import { type Deploy, hash } from './deploy.ts'
import type { EndedFlows } from './ended-flows.ts'
import { renewedMessages } from './seeding.ts'

export interface SaveParts {
  front: FrontMemory
  store: Pick<Store, 'saveFlow' | 'flush'>
  catalog: Catalog
  names: Names
  bodies: Bodies
  health: NodeHealth
  ended: EndedFlows
  rules: Rules
  deploy: Deploy
  show: Show
  /** Values that nobody will get: counted, and told. */
  dropped(flow: string, reason: string, count: number): void
  /** An engine event that is kept and sent to those that asked for events. */
  announce(type: EventType, flow: string, more?: Record<string, unknown>): void
}

/** Who saves, and whether with bodies. */
export interface SavedBy {
  author: string
  may: 'edit' | 'code'
}

/**
 * Saves a document as the newest version of a flow. It is durable before it is deployed, and deployed before it is answered.
 *
 *   document -> check -> bodies -> store (synced) -> what ended is forgotten -> deploy
 *
 * A document that is the present one is not saved again.
 *
 * Called in turn with every other change: what its check has seen holds until its deploy.
 */
export async function save(
  parts: SaveParts,
  name: string,
  request: SaveFlow,
  { author, may }: SavedBy,
  action: 'save' | 'restore',
): Promise<SavedFlow> {
  const { catalog, store, names, bodies, rules } = parts
  assertName(name)
  const before = catalog.find(name)
  // Who edits a flow by hand says nothing of where it came from, and it came from there all the same.
  const origin = request.origin === undefined ? (before?.origin ?? null) : request.origin
  if (before === undefined && catalog.size >= limits.FLOWS)
    throw new ServiceError('too_many_flows', `There are ${catalog.size} flows; no more are allowed.`)
  const checked = await inSlices(checkSteps(name, request.document, catalog.wiring, rules))
  const { document } = checked
  if (may === 'edit') refuseCode(name, before?.document ?? null, document)
  if (before !== undefined && (await isSame(before, document, origin))) {
    assertBase(before, request.base_version ?? null)
    return saved(parts, before, { restarted: [], removed: [], kept: document.nodes.map(node => node.id) })
  }
  names.assertRoom(document.inputs.length + document.nodes.length * 2, document.nodes.length)
  if (bodies.isPassDue) bodies.prune(catalog.digests())
  await inSlices(changeKeys(document, hash))
  for (const node of document.nodes) {
    const digest = Bodies.digest(node)
    const body = checked.bodies.get(node.id)
    if (digest !== null && body !== undefined) await bodies.write(digest, body.code)
  }
  const old = before?.document ?? null
  const change = difference(old, document, hash)
  const forget = {
    messages: renewedMessages(old, document).map(message => `${name}.${message}`),
    nodes: [...change.restarted, ...change.removed].map(id => `${name}.${id}`),
  }
  const text = await inSlices(documentTextSteps(document))
  await nextTurn()
  const commit = await store.saveFlow({
    name,
    document: text,
    enabled: before?.enabled ?? true,
    author,
    message: request.message ?? '',
    action,
    origin,
    base_version: request.base_version ?? null,
    forget,
  })
  const flow = before ?? newFlow(name, names.flow(name), document)
  Object.assign(flow, { document, origin, updated_by: author })
  written(flow, commit)
  const buried = await bury(parts, flow, change, forget)
  if (before === undefined) await parts.ended.emptied({ name, index: flow.index, messages: [], nodes: [], version: 0 })
  parts.health.forget(name, [...change.restarted, ...change.removed])
  await parts.deploy.deploy(flow, true)
  for (const id of change.restarted) parts.front.counters.setPlacement(names.node(`${name}.${id}`), PLACEMENT.inline)
  // On the disk too, before anybody hears that they began again. While the disk is full nothing is kept there.
  if (buried) await store.flush().catch(() => null)
  parts.announce('flow_saved', name, { version: flow.version, commit: flow.commit, by: author })
  return saved(parts, flow, change)
}

/** Would the save change nothing? Node by node: comparing 2,000 of them takes 40 ms. */
function isSame(before: LiveFlow, document: NormalDocument, origin: LiveFlow['origin']): Promise<boolean> {
  function* steps(): Steps<boolean> {
    const { nodes, ...rest } = document
    const { nodes: old, ...old_rest } = before.document
    if (nodes.length !== old.length || !isDeepStrictEqual([old_rest, before.origin], [rest, origin])) return false
    for (const [at, node] of nodes.entries()) {
      if (!isDeepStrictEqual(old[at], node)) return false
      yield
    }
    return true
  }
  return inSlices(steps())
}

/** As the store refuses it. */
function assertBase({ name, version }: LiveFlow, base_version: number | null): void {
  if (base_version === null || base_version === version) return
  throw new ServiceError(
    'stale_version',
    `The flow "${name}" is at version ${version}; the save is based on version ${base_version}.`,
  )
}

const saved = ({ show }: SaveParts, flow: LiveFlow, { restarted, kept }: Difference): SavedFlow => ({
  name: flow.name,
  version: flow.version,
  commit: flow.commit,
  restarted,
  kept,
  issues: show.issues(flow),
})

/**
 * What ended with this save, or bears the name of something that ended before, begins again: states of nodes, values of
 * messages, and what ports held. True when a node had a state.
 */
async function bury(
  { front, names, dropped }: SaveParts,
  flow: LiveFlow,
  { restarted, removed }: Difference,
  forget: { readonly messages: readonly string[]; readonly nodes: readonly string[] },
): Promise<boolean> {
  for (const id of removed) flow.since.delete(id)
  for (const id of restarted) flow.since.set(id, flow.version)
  // What has no row yet was never there while this engine runs.
  const nodes = forget.nodes.map(node => names.findNode(node)).filter(node => node >= 0)
  await buryStates(front, nodes, flow.version)
  let lost = 0
  for (const name of forget.messages) {
    const message = names.findMessage(name)
    if (message < 0) continue
    clearMessage(front, message, flow.index)
    if (dropHeld(front, message, flow.index)) lost++
    lost += dropTimed(front, message, flow.index)
  }
  front.journal.mark()
  if (lost > 0) dropped(flow.name, 'port_removed', lost)
  return nodes.some(node => front.states.version(node) > 0)
}
