import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { followLive, type LiveSocket, type LiveSocketOptions } from '../../clients/client/index.ts'
import type { ActivityFrame, FlowActivity } from '../../protocol/socket/activity.ts'
import { eventually, sharedEngine } from '../kit/live-engine.ts'
import { code, flow, input, output, Story } from '../kit/live-story.ts'

const live = sharedEngine({ FLOW_LANES: '2' })

/** What a program that follows figures knows: of each flow the newest. */
class Watcher {
  readonly flows = new Map<string, FlowActivity>()
  readonly lines = new Map<string, number[]>()
  frames: ActivityFrame[] = []
  socket!: LiveSocket

  static async follow(t: TestContext, more: Partial<LiveSocketOptions> = {}): Promise<Watcher> {
    const watcher = new Watcher()
    const token = readFileSync(join(live.data_dir, 'token'), 'utf8').trim()
    watcher.socket = await followLive({
      find: () => ({ url: live.url, token }),
      onActivity: frame => watcher.#hear(frame),
      onFailure: error => assert.fail(String(error)),
      ...more,
    })
    t.after(() => watcher.socket.close())
    return watcher
  }

  #hear(frame: ActivityFrame): void {
    this.frames.push(frame)
    for (const flow of frame.flows) {
      this.flows.set(flow.flow, flow)
      if (flow.last_minute !== undefined) this.lines.set(flow.flow, flow.last_minute)
    }
  }
}

const counting = (body: string) =>
  flow([code('body', body, [input('x')], [output('y')])], { message: 'x', dtype: 'json' })

test('whoever follows the activity knows rate, line, backlog and trouble of every flow', async t => {
  const story = new Story(live.engine)
  await story.save('busy', counting('export default ({ x }) => ({ y: x })'))
  await story.save('idle', counting('export default ({ x }) => ({ y: x })'))
  await story.save('bad', counting(`export default () => { throw new Error('no level') }`))
  const watcher = await Watcher.follow(t)
  await eventually(() => watcher.flows.size === 3, 'all flows, also those that do nothing')
  assert.deepEqual(watcher.flows.get('idle')!.per_s, 0)
  live.engine.messages.publish(Array.from({ length: 50 }, (_, value) => ({ name: 'busy.x', value })))
  live.engine.messages.publish([{ name: 'bad.x', value: 1 }])
  await eventually(() => watcher.flows.get('busy')!.per_s > 0, 'a rate')
  await eventually(() => watcher.flows.get('bad')!.errors === 1, 'its error')
  await eventually(() => watcher.lines.get('busy')?.includes(50) === true, 'its executions on the line')
  await eventually(() => watcher.flows.get('busy')!.per_s === 0, 'and that it has ended')
  const { per_s, cascades } = watcher.frames.at(-1)!
  assert.deepEqual([per_s >= 0, cascades], [true, { in_flight: 0, limit: 1000 }])
})

test('the nodes of one flow come with the figures, and those of another in their place', async t => {
  const story = new Story(live.engine)
  await story.save('one', counting('export default ({ x }) => ({ y: x })'))
  await story.save('two', counting('export default ({ x }) => ({ y: x })'))
  const watcher = await Watcher.follow(t)
  watcher.socket.followNodes('one')
  const newest = () => watcher.frames.findLast(({ nodes }) => nodes !== undefined)?.nodes
  await eventually(() => newest()?.flow === 'one', 'nodes of the first')
  watcher.socket.followNodes('two')
  await eventually(() => newest()?.flow === 'two', 'nodes of the other')
  live.engine.messages.publish([{ name: 'two.x', value: 1 }])
  await eventually(() => newest()!.items[0]!.per_s > 0, 'their rate')
  assert.deepEqual(
    newest()!.items.map(({ id }) => id),
    ['body'],
  )
})
