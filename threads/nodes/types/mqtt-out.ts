import Type, { type Static } from 'typebox'
import { brokerKey, brokerSettings, checkBroker, qosSetting } from '../mqtt-settings.ts'
import type { NodeTypeDefinition } from '../node-type.ts'
import { TopicTemplate } from '../topic-template.ts'

export const MqttOutSettings = Type.Object(
  {
    ...brokerSettings,
    topic: Type.String({
      minLength: 1,
      maxLength: 65_535,
      title: 'Topic',
      description: 'Where messages go. `{port}` is the value of an input port, `{port.a.b}` a member within it.',
    }),
    qos: qosSetting(
      '0: at most once, 1: at least once, 2: once while the connection lasts, from the engine to the broker.',
    ),
    retain: Type.Optional(
      Type.Boolean({
        default: false,
        title: 'Retain',
        description: 'The broker keeps the last message of each topic.',
      }),
    ),
  },
  { additionalProperties: false },
)
export type MqttOutSettings = Static<typeof MqttOutSettings>

/** Publishes to a broker. */
export const mqttOutType: NodeTypeDefinition<MqttOutSettings> = {
  name: 'mqtt-out',
  title: 'MQTT out',
  summary: 'Publishes its input to a topic of an MQTT broker.',
  settings: MqttOutSettings,
  inputs: { kind: 'any', description: '`value` is what is sent; the others are those that the topic names.' },
  outputs: { kind: 'none' },
  place: 'connectors',
  side_effects: true,
  targetKey: ({ url }) => brokerKey(url),
  check(of) {
    checkBroker(of)
    const { node, settings, refuse } = of
    const template = new TopicTemplate(settings.topic)
    if (template.fault !== null) refuse('bad_settings', 'settings.topic', template.fault)
    const names = node.ports.inputs.map(({ name }) => name)
    if (!names.includes('value')) refuse('validation', 'ports.inputs', 'mqtt-out needs its input port "value"')
    for (const port of template.ports)
      if (!names.includes(port)) refuse('bad_settings', 'settings.topic', `there is no input port "${port}"`)
    for (const [at, name] of names.entries())
      if (name !== 'value' && !template.ports.includes(name))
        refuse('validation', `ports.inputs[${at}].name`, `"${name}" is neither "value" nor named by the topic`)
  },
}
