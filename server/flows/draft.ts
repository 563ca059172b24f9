import { checkSteps, type Rules } from '../../core/flow/check.ts'
import type { PlanNode } from '../../core/flow/plan.ts'
import { ServiceError } from '../../protocol/errors.ts'
import type { NormalDocument } from '../../protocol/nouns/flow-document.ts'
import { inSlices } from '../watch/slices.ts'
import { Bodies } from './bodies.ts'
import type { Catalog } from './catalog.ts'

/** What a try puts in place of what the node has. */
export interface NodeDraft {
  readonly source?: string | undefined
  readonly settings?: Record<string, unknown> | undefined
}

/**
 * The node as it would be with another source or other settings, checked as a save of its flow is. Its body is written, so that it can be loaded; a
 * pass over the bodies removes it. Called in turn with changes.
 */
export async function draftNode(
  { catalog, bodies, rules }: { catalog: Catalog; bodies: Bodies; rules: Rules },
  name: string,
  id: string,
  { source, settings }: NodeDraft,
): Promise<PlanNode> {
  const { document, plan } = catalog.existing(name)
  const at = document.nodes.findIndex(node => node.id === id)
  const planned = plan.nodes.find(node => node.id === id)
  if (at === -1 || planned === undefined)
    throw new ServiceError('node_not_found', `Flow "${name}" has no node "${id}".`)
  const present = document.nodes[at]!
  const draft = { ...present, source: source ?? present.source, settings: settings ?? present.settings }
  const nodes = document.nodes.with(at, draft as NormalDocument['nodes'][number])
  const checked = await inSlices(checkSteps(name, { ...document, nodes }, catalog.wiring, rules)).catch(error => {
    throw inBody(error, `nodes[${at}].`)
  })
  const node = checked.document.nodes[at]!
  const digest = Bodies.digest(node)
  const body = checked.bodies.get(id)
  if (digest !== null && body !== undefined) await bodies.write(digest, body.code)
  return { ...planned, settings: node.settings, digest }
}

/** Places within the node lie in the body of the request. */
function inBody(error: unknown, before: string): unknown {
  if (!(error instanceof ServiceError)) return error
  const errors = error.errors.map(({ loc, msg }) => ({
    loc: loc.startsWith(before) ? `body.${loc.slice(before.length)}` : loc,
    msg,
  }))
  return ServiceError.from({ ...error.toJSON(), detail: error.detail.replaceAll(before, ''), errors })
}
