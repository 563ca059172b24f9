import assert from 'node:assert/strict'
import type { FlowNode } from '../../protocol/nouns/flow-document.ts'
import { code, flow, input, output, type Story } from './live-story.ts'

/** Three items of `y` from one `x`, in every way that a body can give them. */
const SHAPES = {
  returns: 'export default ({ x }, ctx) => { ctx.emit({ y: x + 1 }); ctx.emit({ y: x + 2 }); return { y: x + 3 } }',
  awaits: 'export default async ({ x }, ctx) => { for (let i = 1; i <= 3; i++) await ctx.emit({ y: x + i }) }',
  yields: 'export default function* ({ x }) { yield { y: x + 1 }; yield { y: x + 2 }; return { y: x + 3 } }',
  yields_later:
    'export default async function* ({ x }) { for (let i = 1; i <= 3; i++) { await null; yield { y: x + i } } }',
  leaves_out:
    'export default async ({ x }, ctx) => { for (const n of [1, 2, 3]) { await null; ctx.emit({ y: x + n, w: undefined }) } }',
}

/** Wherever the body runs, its items come in order, and those who read them meet each other's of the same wave. */
export async function emitsInOrderAndWaves(story: Story, place: Partial<FlowNode>): Promise<void> {
  for (const [name, source] of Object.entries(SHAPES)) {
    const nodes = [
      code('body', source, [input('x', 'int')], [output('y', 'int'), output('w', 'int')], place),
      code('double', 'export default ({ y }) => ({ doubled: y * 2 })', [input('y', 'int')], [output('doubled', 'int')]),
      code(
        'join',
        'export default ({ y, doubled }) => ({ z: [y, doubled] })',
        [input('y', 'int'), input('doubled', 'int')],
        [output('z', 'json')],
      ),
    ]
    await story.save(name, flow(nodes, { message: 'x', dtype: 'int' }))
    for (const value of [10, 20]) story.publish(`${name}.x`, value)
    assert.deepEqual(
      await story.values(`${name}.z`, 6),
      [11, 12, 13, 21, 22, 23].map(item => [item, item * 2]),
      name,
    )
  }
}
