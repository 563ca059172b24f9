import type { FlowDocument } from '../../protocol/nouns/flow-document.ts'
import { BatchStory } from '../kit/batch-story.ts'
import { FlowStory, type NodeBody, node } from '../kit/flow-story.ts'
import { sharedEngine } from '../kit/live-engine.ts'
import { code, input, output, Story } from '../kit/live-story.ts'
import { type HostStory, hostStories } from './hosts.ts'

const words = (text: string): string[] => text.split(' ').filter(word => word !== '')
const made = ({ nodes }: HostStory): string[] => nodes.flatMap(({ makes }) => words(makes))

hostStories("the test's own host", {
  tells: 'all',
  run: async ({ nodes, publishes }) => {
    const told: Record<string, unknown[]> = {}
    const story = new FlowStory(
      nodes.map(({ id, reads, makes, body }) => node(id, reads, makes, body as NodeBody)),
      { publishes: (message, _version, value) => void (told[message] ??= []).push(value) },
    )
    for (const [message, value] of publishes) story.publish(message, value)
    await story.settles()
    return { values: told, failed: story.failures.map(line => line.slice(0, line.indexOf(' '))) }
  },
})

const live = sharedEngine()

function documentOf({ nodes, inputs }: HostStory): FlowDocument {
  return {
    nodes: nodes.map(({ id, reads, makes, body }) =>
      code(
        id,
        `export default ${String(body)}`,
        words(reads).map(word => input(word.replace('!', ''), 'json', { trigger: !word.startsWith('!') })),
        words(makes).map(name => output(name)),
      ),
    ),
    inputs: inputs.map(message => ({ message, dtype: 'json' })),
  }
}

hostStories('a lane', {
  tells: 'all',
  run: async (story, name) => {
    const told = new Story(live.engine)
    await told.save(name, documentOf(story))
    for (const [message, value] of story.publishes) told.publish(`${name}.${message}`, value)
    const values: Record<string, unknown[]> = {}
    for (const message of made(story)) {
      const published = story.publishes.filter(([name]) => name === message).length
      const least = (story.values[message]?.length ?? 0) + published
      values[message] = (await told.values(`${name}.${message}`, least)).slice(published)
    }
    const failed: string[] = []
    for (const { id } of story.nodes) {
      if ((await live.engine.nodes.errors(`${name}.${id}`)).count > 0) failed.push(id)
    }
    return { values, failed }
  },
})

hostStories('a batch run', {
  tells: 'last',
  run: async (story, name) => {
    const told = new BatchStory(live.engine)
    await told.save(`batch_${name}`, documentOf(story))
    const run = await told.runs(`batch_${name}`, { inputs: Object.fromEntries(story.publishes) })
    const statuses = await told.statuses(run.id)
    const values = Object.entries(run.result ?? {}).map(([message, value]) => [message, [value]])
    return {
      values: Object.fromEntries(values),
      failed: Object.keys(statuses).filter(id => statuses[id] === 'failed'),
    }
  },
})
