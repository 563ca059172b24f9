import Type, { type Static } from 'typebox'
import { limits } from '../../../protocol/limits.ts'
import { DTYPES } from '../../../protocol/values/dtypes.ts'
import type { NodeTypeDefinition } from '../node-type.ts'
import { checkTimed } from '../timed-check.ts'

export const DelaySettings = Type.Object(
  {
    seconds: Type.Number({
      minimum: 0,
      maximum: limits.DELAY_S_MAX,
      unit: 's',
      title: 'Seconds',
      description: 'How much later each value is published.',
    }),
  },
  { additionalProperties: false },
)
export type DelaySettings = Static<typeof DelaySettings>

/** Publishes each value later, in order. What is scheduled outlives a restart. */
export const delayType: NodeTypeDefinition<DelaySettings> = {
  name: 'delay',
  title: 'Delay',
  summary: 'Publishes each value some time later, in the order in which they came.',
  settings: DelaySettings,
  inputs: {
    kind: 'known',
    ports: [{ name: 'value', dtypes: DTYPES, description: 'What is published later.', required: true }],
  },
  outputs: {
    kind: 'known',
    ports: [{ name: 'value', dtypes: DTYPES, description: 'The same value, later.', required: true }],
  },
  place: 'lane',
  side_effects: true,
  body: 'export default ({ value }) => ({ value })\n',
  check({ node, refuse }) {
    checkTimed(node, refuse)
  },
}
