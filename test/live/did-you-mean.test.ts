import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sharedEngine } from '../kit/live-engine.ts'
import { code, flow, input, output, Story } from '../kit/live-story.ts'

const live = sharedEngine()

test('a flow, message or node that does not exist is refused with the one that is near', async () => {
  const story = new Story(live.engine)
  const body = 'export default ({ raw }) => ({ mean: raw })'
  const smooth = code('smooth', body, [input('raw', 'int')], [output('mean', 'int')])
  await story.save('boiler', flow([smooth], { message: 'raw', dtype: 'int' }))
  const { flows, messages, nodes } = live.engine
  assert.throws(() => flows.get('biler'), /There is no flow "biler"\. Did you mean "boiler"\?/)
  assert.throws(() => messages.get('boiler.rwa'), /There is no message "boiler\.rwa"\. Did you mean "boiler\.raw"\?/)
  assert.throws(() => messages.get('bioler.raw'), /There is no message "bioler\.raw"\. Did you mean "boiler\.raw"\?/)
  assert.throws(() => nodes.get('boiler.smoth'), /There is no node "boiler\.smoth"\. Did you mean "boiler\.smooth"\?/)
  assert.throws(() => nodes.get('biler.smooth'), /There is no node "biler\.smooth"\. Did you mean "boiler\.smooth"\?/)
  assert.throws(() => flows.source('boiler', 'smooht'), /has no node "smooht"\. Did you mean "smooth"\?/)
  assert.throws(() => flows.get('quite_another'), /There is no flow "quite_another"\. GET/)
})
