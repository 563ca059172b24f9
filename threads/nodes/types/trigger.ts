import Type, { type Static } from 'typebox'
import { limits } from '../../../protocol/limits.ts'
import { DTYPES } from '../../../protocol/values/dtypes.ts'
import type { NodeTypeDefinition } from '../node-type.ts'
import { checkTimed } from '../timed-check.ts'

export const TriggerSettings = Type.Object(
  {
    mode: Type.Optional(
      Type.Union([Type.Literal('debounce'), Type.Literal('hold')], {
        default: 'debounce',
        title: 'Mode',
        description: '`debounce`: each value begins the wait again. `hold`: only the first one begins it.',
      }),
    ),
    seconds: Type.Optional(
      Type.Number({
        minimum: 0,
        maximum: limits.DELAY_S_MAX,
        unit: 's',
        title: 'Seconds',
        description: 'The wait. At its end the newest value is published.',
      }),
    ),
    passthrough: Type.Optional(
      Type.Boolean({
        default: false,
        title: 'Pass through',
        description: 'The value that begins a wait is published at once as well.',
      }),
    ),
    wait_port: Type.Optional(
      Type.Union([Type.String(), Type.Null()], {
        default: null,
        title: 'Wait port',
        description: 'Input port whose value is the wait in seconds, whatever `seconds` is.',
      }),
    ),
  },
  { additionalProperties: false },
)
export type TriggerSettings = Static<typeof TriggerSettings>

/** Publishes the newest value at the end of a wait. What is scheduled outlives a restart. */
export const triggerType: NodeTypeDefinition<TriggerSettings> = {
  name: 'trigger',
  title: 'Trigger',
  summary:
    'Publishes the newest value at the end of a wait: after silence (debounce), or a fixed time after the first one (hold).',
  settings: TriggerSettings,
  inputs: {
    kind: 'known',
    ports: [{ name: 'value', dtypes: DTYPES, description: 'What is published later.', required: true }],
    more: 'The port that `wait_port` names, a float or an int: the wait in seconds.',
  },
  outputs: {
    kind: 'known',
    ports: [{ name: 'value', dtypes: DTYPES, description: 'The newest value.', required: true }],
  },
  place: 'lane',
  side_effects: true,
  body: `export default (inputs, { settings }) => {
  if (typeof settings.wait_port === 'string') {
    const wait = inputs[settings.wait_port]
    if (!(wait >= 0 && wait <= ${limits.DELAY_S_MAX})) {
      const refusal = new RangeError(\`the wait is \${wait} seconds; it must be between 0 and ${limits.DELAY_S_MAX}\`)
      throw Object.assign(refusal, { stack: null }) // a line of this code would tell nobody what to correct
    }
  }
  return { value: inputs.value }
}
`,
  check({ node, settings: { seconds, wait_port = null }, refuse }) {
    checkTimed(node, refuse)
    if (seconds === undefined && wait_port === null) refuse('bad_settings', 'settings', 'set seconds or wait_port')
    const port = node.ports.inputs.find(({ name }) => name === wait_port)
    if (wait_port !== null && port === undefined)
      refuse('bad_settings', 'settings.wait_port', `there is no input port "${wait_port}"`)
    for (const [at, { name, dtype }] of node.ports.inputs.entries()) {
      if (name === wait_port && dtype !== 'float' && dtype !== 'int')
        refuse('dtype_mismatch', `ports.inputs[${at}].dtype`, `the wait is float or int, not ${dtype}`)
      if (name !== wait_port && name !== 'value')
        refuse(
          'validation',
          `ports.inputs[${at}].name`,
          `trigger has no input port "${name}"; it has value and the one that wait_port names`,
        )
    }
  },
}
