import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FlowNode } from '../../protocol/nouns/flow-document.ts'
import { sharedEngine } from '../kit/live-engine.ts'
import { code, flow, input, Story } from '../kit/live-story.ts'

const live = sharedEngine({ FLOW_LANES: '1', FLOW_MAX_WORKERS: '1' })

const PRINTS = `export default async ({ x }, ctx) => {
  ctx.log = text => console.log(text)
  console.log('printed', x)
  await null
  console.error('after a while')
}`
const PLACES: Record<string, Partial<FlowNode>> = {
  lane: {},
  slot: { timeout: 60 },
  process: { isolation: 'process' },
}

for (const [place, more] of Object.entries(PLACES)) {
  test(`what a live body prints is a line of its node: in a ${place}`, async () => {
    const story = new Story(live.engine)
    const name = `prints_${place}`
    const message = { message: 'x', dtype: 'int' } as const
    await story.save(
      name,
      flow(
        [
          code('one', PRINTS, [input('x', 'int')], [], more),
          code('two', `${PRINTS} // two`, [input('x', 'int')], [], more),
        ],
        message,
      ),
    )
    story.publish(`${name}.x`, 1)
    const said = await story.events(name, 'node_log', 4)
    const shown = said.map(({ node, level, text }) => `${node} ${level} ${text}`).sort()
    assert.deepEqual(shown, [
      `${name}.one error after a while`,
      `${name}.one info printed 1`,
      `${name}.two error after a while`,
      `${name}.two info printed 1`,
    ])
  })
}
