/**
 * What compiles and what does not, told to the compiler: `npm run check` fails when a line that is expected to be refused is not.
 * types.test.ts holds the texts of the refusals. Nothing here runs.
 */
import { type ArtifactReference, type Context, Flow, node, type OutputPorts, use } from '../../../clients/sdk/index.ts'
import type { NodeContext } from '../../../threads/calls/node-context.ts'

type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false
const same = <A, B>(_: Same<A, B>): void => {}

const every = node(
  {
    inputs: { i: 'int', b: { dtype: 'bool', trigger: false }, s: 'str', j: 'json', picture: 'image' },
    outputs: { f: 'float', text: { dtype: 'str', rate_hz: 5 }, file: 'artifact' },
    settings: { window: 12, mode: 'fast' as 'fast' | 'exact' },
  },
  ({ i, b, s, j, picture }, ctx) => {
    same<typeof i, number>(true)
    same<typeof b, boolean>(true)
    same<typeof s, string>(true)
    same<typeof j, unknown>(true)
    same<typeof picture, ArtifactReference>(true)
    same<typeof ctx.settings, Readonly<{ window: number; mode: 'fast' | 'exact' }>>(true)
    return b ? { f: i } : { text: s, file: picture }
  },
)

// Each shape of a body, and bodies that answer nothing.
node({ outputs: { y: 'float' } }, async () => ({ y: 1 }))
node({ outputs: { y: 'float', z: 'str' } }, function* () {
  yield { y: 1 }
  yield { z: 'text' }
})
node({ outputs: { y: 'float' } }, async function* (_inputs, ctx) {
  await ctx.emit({ y: 1 })
  yield { y: 2 }
})
node({ inputs: { x: 'float' }, outputs: { y: 'float' } }, ({ x }) => {
  if (x > 0) return { y: x }
  return
})
node({ inputs: { x: 'float' } }, () => {})

// @ts-expect-error no output port is called so
node({ outputs: { y: 'float' } }, () => ({ z: 1 }))
// @ts-expect-error one of two keys
node({ outputs: { y: 'float' } }, () => ({ y: 1, z: 1 }))
// @ts-expect-error on one of two ways
node({ inputs: { x: 'float' }, outputs: { y: 'float' } }, ({ x }) => (x > 0 ? { y: x } : { z: x }))
// @ts-expect-error in a promise
node({ outputs: { y: 'float' } }, async () => ({ y: 1, z: 1 }))
// @ts-expect-error in a yield
node({ outputs: { y: 'float' } }, function* () {
  yield { y: 1, z: 1 }
})
// @ts-expect-error a node without outputs
node({ inputs: { x: 'float' } }, ({ x }) => ({ z: x }))
// @ts-expect-error a value of another dtype
node({ outputs: { y: 'float' } }, () => ({ y: 'text' }))
// @ts-expect-error nothing is read from that port
node({ inputs: { x: 'float' } }, ({ q }) => void q)
// @ts-expect-error no setting of that name
node({ settings: { window: 12 } }, (_inputs, ctx) => void ctx.settings.windw)
// @ts-expect-error an emission with a wrong key
node({ outputs: { y: 'float' } }, (_inputs, ctx) => void ctx.emit({ z: 1 }))
// @ts-expect-error no dtype
node({ inputs: { x: 'double' } }, () => {})
// @ts-expect-error no option
node({ inputs: { x: 'float' }, cahce: false }, () => {})

use(every, { id: 'again', wire: { i: 'count', f: 'figure' }, window: 6, mode: 'exact' })
// @ts-expect-error no port of that name
use(every, { wire: { q: 'count' } })
// @ts-expect-error no setting of that name
use(every, { windw: 6 })
// @ts-expect-error a setting of another type
use(every, { mode: 'slow' })
Flow('composed', [every, use(every, { id: 'again' })], { inputs: { i: 'int', j: { default: [1] } } })
// @ts-expect-error a node is a function and no body is a node
Flow('composed', [() => {}])

/** What a body finds is what the SDK promises. */
export const promised = (found: NodeContext): Context<Record<string, unknown>, OutputPorts> => found
