import Type, { type Static } from 'typebox'
import { limits } from '../../protocol/limits.ts'
import { filterFault, topicFault } from './mqtt-topics.ts'
import type { SettingsOf } from './node-type.ts'
import { secretText } from './secrets.ts'

const orNull = <Schema extends ReturnType<typeof Type.String>>(
  schema: Schema,
  options: { title: string; description: string },
) => Type.Optional(Type.Union([schema, Type.Null()], { default: null, ...options }))

export const qosSetting = (description: string) =>
  Type.Optional(
    Type.Union([Type.Literal(0), Type.Literal(1), Type.Literal(2)], { default: 0, title: 'QoS', description }),
  )

/** Settings of every node that speaks with a broker. */
export const brokerSettings = {
  url: Type.String({
    pattern: '^mqtts?://',
    maxLength: limits.URL_CHARACTERS,
    title: 'Broker',
    description: 'The broker: `mqtt://host:1883`, or `mqtts://host:8883` with TLS.',
  }),
  protocol: Type.Optional(
    Type.Union([Type.Literal('5'), Type.Literal('3.1.1')], {
      default: '5',
      title: 'Protocol',
      description: 'The version of MQTT.',
    }),
  ),
  username: orNull(Type.String({ maxLength: 1024 }), {
    title: 'User name',
    description: 'Who signs in at the broker.',
  }),
  password: Type.Optional(secretText({ title: 'Password', description: 'The password of the user.' })),
  client_id: orNull(Type.String({ minLength: 1, maxLength: 128 }), {
    title: 'Client id',
    description:
      'How the broker knows the connection; a random one when absent. The connection that publishes adds `-out`.',
  }),
  session_s: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 4_294_967_294,
      default: 0,
      unit: 's',
      title: 'Session',
      description:
        'How long the broker keeps subscriptions and messages of QoS 1 and 2 while the engine is away. Needs `client_id`.',
    }),
  ),
  will: Type.Optional(
    Type.Union(
      [
        Type.Object(
          {
            topic: Type.String({ minLength: 1, maxLength: 1024, description: 'Where it goes.' }),
            payload: Type.String({ maxLength: 65_536, description: 'A text.' }),
            qos: Type.Optional(
              Type.Union([Type.Literal(0), Type.Literal(1), Type.Literal(2)], { default: 0, description: 'Its QoS.' }),
            ),
            retain: Type.Optional(Type.Boolean({ default: false, description: 'Whether the broker keeps it.' })),
          },
          { additionalProperties: false },
        ),
        Type.Null(),
      ],
      { default: null, title: 'Will', description: 'What the broker publishes when the connection is lost.' },
    ),
  ),
  ca: orNull(Type.String({ maxLength: 65_536 }), {
    title: 'CA',
    description: 'TLS: the certificates to trust in place of those of the system, PEM.',
  }),
  cert: orNull(Type.String({ maxLength: 65_536 }), {
    title: 'Certificate',
    description: 'TLS: the certificate of the client, PEM.',
  }),
  key: Type.Optional(
    secretText({ title: 'Key', description: 'TLS: the key of that certificate, PEM.' }, { maxLength: 65_536 }),
  ),
  server_name: orNull(Type.String({ maxLength: 255 }), {
    title: 'Server name',
    description: 'TLS: the name that the certificate of the broker has, where it is not the host of the address.',
  }),
} as const

const Broker = Type.Object(brokerSettings)
export type BrokerSettings = Static<typeof Broker>

export const brokerKey = (url: string): string | null => {
  if (!URL.canParse(url)) return null
  const { protocol, hostname, port } = new URL(url)
  return hostname === '' ? null : `${protocol}//${hostname}:${port || (protocol === 'mqtts:' ? 8883 : 1883)}`
}

export function checkBroker({ settings, refuse }: Pick<SettingsOf<BrokerSettings>, 'settings' | 'refuse'>): void {
  const { url, client_id = null, session_s = 0, will = null, cert = null, key } = settings
  if (brokerKey(url) === null) refuse('bad_settings', 'settings.url', 'is not an address')
  else {
    const { username, password, pathname } = new URL(url)
    if (username !== '' || password !== '')
      refuse('bad_settings', 'settings.url', 'has a user or a password in it; use the settings username and password')
    if (pathname !== '' && pathname !== '/')
      refuse('bad_settings', 'settings.url', 'has a path, which MQTT does not know')
  }
  if (session_s > 0 && client_id === null)
    refuse('bad_settings', 'settings.session_s', 'needs a client_id: the broker knows the session by it')
  if ((cert === null) !== (key === undefined)) refuse('bad_settings', 'settings.cert', 'cert and key belong together')
  const fault = will === null ? null : topicFault(will.topic)
  if (fault !== null) refuse('bad_settings', 'settings.will.topic', fault)
}

export function checkFilters({
  settings,
  refuse,
}: Pick<SettingsOf<{ topics: readonly string[] }>, 'settings' | 'refuse'>): void {
  const seen = new Set<string>()
  for (const [at, filter] of settings.topics.entries()) {
    const fault = seen.has(filter) ? 'is there twice' : filterFault(filter)
    if (fault !== null)
      refuse('bad_settings', `settings.topics[${at}]`, `${JSON.stringify(filter.slice(0, 200))}: ${fault}`)
    seen.add(filter)
  }
}
