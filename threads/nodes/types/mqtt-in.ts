import Type, { type Static } from 'typebox'
import { limits } from '../../../protocol/limits.ts'
import { brokerKey, brokerSettings, checkBroker, checkFilters, qosSetting } from '../mqtt-settings.ts'
import type { NodeTypeDefinition } from '../node-type.ts'

export const MqttInSettings = Type.Object(
  {
    ...brokerSettings,
    topics: Type.Array(Type.String({ maxLength: 65_535 }), {
      minItems: 1,
      maxItems: limits.MQTT_FILTERS,
      title: 'Topics',
      description: 'Topic filters: `+` is any one level, `#` at the end is all levels that follow.',
    }),
    payload: Type.Optional(
      Type.Union([Type.Literal('json'), Type.Literal('text'), Type.Literal('number'), Type.Literal('bytes')], {
        default: 'json',
        title: 'Payload',
        description: 'What messages are: JSON, text, a number as text, or bytes that become an artifact.',
      }),
    ),
    json_key: Type.Optional(
      Type.Union([Type.String({ minLength: 1, maxLength: 256 }), Type.Null()], {
        default: null,
        title: 'JSON key',
        description: 'The member of the JSON object that is the value; `a.b` is member b of member a.',
      }),
    ),
    media_type: Type.Optional(
      Type.String({
        maxLength: 128,
        pattern: '^[a-z0-9.+-]+/[a-z0-9.+-]+$',
        default: 'application/octet-stream',
        title: 'Media type',
        description: 'Bytes: the media type of the artifact.',
      }),
    ),
    qos: qosSetting(
      '0: at most once, 1: at least once, 2: once while the connection lasts, from the broker to the engine.',
    ),
  },
  { additionalProperties: false },
)
export type MqttInSettings = Static<typeof MqttInSettings>

const STORED = ['artifact', 'image', 'audio', 'video'] as const

/** Subscribes, and publishes what comes. */
export const mqttInType: NodeTypeDefinition<MqttInSettings> = {
  name: 'mqtt-in',
  title: 'MQTT in',
  summary: 'Subscribes to topics of an MQTT broker, and publishes the messages that come.',
  settings: MqttInSettings,
  inputs: { kind: 'none' },
  outputs: {
    kind: 'known',
    ports: [
      {
        name: 'value',
        dtypes: ['json', 'float', 'int', 'str', 'bool', ...STORED],
        description: 'The payload, or what json_key lifts out of it.',
      },
      { name: 'topic', dtypes: ['str'], description: 'The topic of the message, in the same cascade.' },
    ],
  },
  place: 'connectors',
  side_effects: true,
  targetKey: ({ url }) => brokerKey(url),
  check(of) {
    checkBroker(of)
    checkFilters(of)
    const { node, settings, refuse } = of
    const { payload = 'json', json_key = null } = settings
    if (json_key !== null && payload !== 'json')
      refuse('bad_settings', 'settings.json_key', `is for the payload "json", not "${payload}"`)
    const value = node.ports.outputs.find(({ name }) => name === 'value')
    if (value === undefined) return
    const isStored = (STORED as readonly string[]).includes(value.dtype)
    if (isStored !== (payload === 'bytes'))
      refuse('bad_settings', 'settings.payload', `"${payload}" does not make a value of dtype ${value.dtype}`)
  },
}
