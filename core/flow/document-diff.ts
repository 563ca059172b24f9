import type { NormalDocument, NormalInputPort, NormalOutputPort } from '../../protocol/nouns/flow-document.ts'
import { compareKeyed, compareValues, type Difference } from '../../protocol/values/differences.ts'

/**
 * How two documents differ. Nodes are matched by id, ports by name and flow inputs by message, so that one inserted in front
 * does not make all that follow differ; a change of their order is one difference at the list.
 */
export function documentDiff(before: NormalDocument | null, after: NormalDocument | null): Difference[] {
  if (before === null || after === null)
    return before === after ? [] : [{ path: '', ...(before ? { before } : {}), ...(after ? { after } : {}) }]
  const found: Difference[] = []
  compareKeyed(
    '/nodes',
    before.nodes,
    after.nodes,
    node => node.id,
    found,
    (path, old, node) => {
      const { ports: oldPorts, ...oldRest } = old
      const { ports, ...rest } = node
      compareValues(path, oldRest, rest, found)
      for (const side of ['inputs', 'outputs'] as const)
        compareKeyed<NormalInputPort | NormalOutputPort>(
          `${path}/ports/${side}`,
          oldPorts[side],
          ports[side],
          port => port.name,
          found,
        )
    },
  )
  compareKeyed('/inputs', before.inputs, after.inputs, input => input.message, found)
  if (before.on_restart !== after.on_restart) {
    const [old = 'resume', now = 'resume'] = [before.on_restart, after.on_restart]
    found.push({ path: '/on_restart', before: old, after: now })
  }
  return found
}
