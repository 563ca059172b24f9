import { checkSteps, type Rules } from '../../../core/flow/check.ts'
import { nodesWithNewCode, nodesWithNewReach } from '../../../core/flow/code-change.ts'
import { changeKeys, type Difference, difference } from '../../../core/flow/difference.ts'
import { ServiceError } from '../../../protocol/errors.ts'
import { isName } from '../../../protocol/names.ts'
import type { SaveFlow } from '../../../protocol/nouns/flow.ts'
import type { NormalDocument, NormalNode } from '../../../protocol/nouns/flow-document.ts'
import { secretsOf } from '../../../threads/nodes/secrets.ts'
import { nodeTypeOf } from '../../../threads/nodes/types/index.ts'
import { inSlices } from '../../watch/slices.ts'
import type { Catalog } from '../catalog.ts'
import { hash } from './deploy.ts'

/** What a save would do: to nodes by id, and from which version on. */
export interface CheckedFlow extends Difference {
  /** The version that the flow has; 0: there is none. */
  readonly version: number
}

/** Everything of a save that can be refused before it is written. Called in turn with changes, as a save is. */
export async function check(
  { catalog, rules }: { catalog: Catalog; rules: Rules },
  name: string,
  given: SaveFlow['document'],
  may: 'edit' | 'code',
): Promise<CheckedFlow> {
  assertName(name)
  const before = catalog.find(name)
  const { document } = await inSlices(checkSteps(name, given, catalog.wiring, rules))
  const old = before?.document ?? null
  if (may === 'edit') refuseCode(name, old, document)
  await inSlices(changeKeys(document, hash))
  const { restarted, removed, kept } = difference(old, document, hash)
  return { version: before?.version ?? 0, restarted, removed, kept }
}

export function assertName(name: string): void {
  if (isName(name)) return
  throw new ServiceError('validation', `"${name}" is not a valid flow name.`, {
    errors: [{ loc: 'path.name', msg: 'is not a valid flow name' }],
  })
}

/** Who may not write bodies keeps those that are there, and what a body could do settings do not do either: hand secrets on, read files. */
export function refuseCode(flow: string, before: NormalDocument | null, document: NormalDocument): void {
  const coded = nodesWithNewCode(before, document)
  if (coded.length > 0) refuse(`The code of ${listed(coded)} in flow "${flow}" changed`)
  const reaching = nodesWithNewReach(before, document, reaches)
  if (reaching.length > 0)
    refuse(`Settings of ${listed(reaching)} in flow "${flow}", which name a secret or a file of the machine, are new`)
}

const reaches = ({ type, settings }: NormalNode): boolean =>
  secretsOf(settings, '').length > 0 || nodeTypeOf(type)?.namesFile?.(settings as never) === true

const listed = (nodes: readonly string[]): string =>
  nodes.slice(0, 5).join(', ') + (nodes.length > 5 ? ` and ${nodes.length - 5} more` : '')

function refuse(what: string): never {
  throw new ServiceError('forbidden', `${what}; that needs the scope "code".`)
}
