import Type from 'typebox'
import { limits } from '../../../protocol/limits.ts'
import { MessageName } from '../../../protocol/nouns/message.ts'
import { closed, flowName, page, pageOf, since, timeOf, until } from '../arguments.ts'
import { listOf, shortened } from '../results.ts'
import { tableOf } from '../tables.ts'
import { type Tool, tool } from '../tool.ts'

const VALUE_SHOWN = 400
const name = MessageName

export const messageTools: readonly Tool[] = [
  tool({
    name: 'list_messages',
    title: 'List messages',
    description:
      'Lists messages by name with their latest values; long values are cut. A message is named <flow>.<message>.',
    scope: 'read',
    input: Type.Object({ flow: Type.Optional(flowName), ...page }, closed),
    run: ({ flow = undefined, ...args }, { engine }) => {
      const { limit, offset } = pageOf(args)
      const { items, count } = engine.messages.list({ flow: flow ?? null, limit, offset })
      const shown = items.map(message => ({ ...message, value: shortened(message.value, VALUE_SHOWN) }))
      return listOf(shown, count, offset)
    },
  }),
  tool({
    name: 'read_message',
    title: 'Read a message',
    description: 'Returns a message with its latest value, its dtype and the node that publishes it.',
    scope: 'read',
    input: Type.Object({ name }, closed),
    run: ({ name }, { engine }) => engine.messages.get(name),
  }),
  tool({
    name: 'read_history',
    title: 'Read the history of a message',
    description:
      'Returns a table of the newest values of a message in a time range, or, with bucket_s, of bins: count, min, max, mean, last. Prefer bins for long ranges.',
    scope: 'read',
    input: Type.Object(
      {
        name,
        since,
        until,
        limit: Type.Optional(
          Type.Integer({ minimum: 1, maximum: 1_000, description: 'Rows at most, the newest; 100 when absent.' }),
        ),
        bucket_s: Type.Optional(
          Type.Number({ minimum: 0.001, maximum: limits.BUCKET_S_MAX, description: 'Width of a bin in seconds.' }),
        ),
      },
      closed,
    ),
    run: async ({ name, limit = 100, bucket_s, ...range }, { engine }) => {
      const { dtype, items, truncated } = await engine.messages.history(name, {
        since_us: timeOf('since', range.since),
        until_us: timeOf('until', range.until),
        limit,
        bucket_s: bucket_s ?? null,
      })
      const columns =
        bucket_s === undefined ? ['ts', 'version', 'value'] : ['ts', 'count', 'min', 'max', 'mean', 'last']
      const rows = items.map(item => columns.map(column => (item as Record<string, unknown>)[column]))
      const older = truncated ? `older rows were left out: ask again with until=${items[0]?.ts}` : ''
      return tableOf({ title: `${name} (${dtype})`, columns, rows, note: older })
    },
  }),
  tool({
    name: 'publish',
    title: 'Publish a value',
    description:
      'Publishes a value of a message, as if it came from outside: the nodes that read it run. The value has to have the dtype of the message.',
    scope: 'publish',
    input: Type.Object({ name, value: Type.Unknown({ description: 'Of the dtype of the message.' }) }, closed),
    run: ({ name, value }, { engine }) => engine.messages.publish([{ name, value }])[0],
  }),
]
