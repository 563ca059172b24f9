import Type, { type Static } from 'typebox'
import { MESSAGE_REFERENCE_PATTERN } from '../../../protocol/names.ts'
import type { NodeTypeDefinition } from '../node-type.ts'
import { secretText } from '../secrets.ts'
import { webTimeout } from '../web-settings.ts'

const header = Type.String({
  pattern: '^[A-Za-z0-9-]{1,128}$',
  title: 'Header',
  description: 'The name of the header field.',
})
const closed = { additionalProperties: false }

export const WebhookSettings = Type.Object(
  {
    answer: Type.Optional(
      Type.Union([Type.String({ pattern: MESSAGE_REFERENCE_PATTERN }), Type.Null()], {
        default: null,
        title: 'Answer',
        description:
          'The message whose next value from the request is the answer; without one a request is answered when it has been published.',
      }),
    ),
    timeout_s: webTimeout('With `answer`: a request that has no answer by then gets 504.'),
    hmac: Type.Optional(
      Type.Union(
        [
          Type.Object(
            {
              header,
              secret: secretText({ title: 'Secret', description: 'The key.' }),
              algorithm: Type.Optional(
                Type.Union([Type.Literal('sha256'), Type.Literal('sha512'), Type.Literal('sha1')], {
                  default: 'sha256',
                  title: 'Algorithm',
                  description: 'The hash function.',
                }),
              ),
            },
            closed,
          ),
          Type.Null(),
        ],
        {
          default: null,
          title: 'HMAC',
          description: 'Only requests whose header carries the HMAC of the body are taken, in hex or base64.',
        },
      ),
    ),
    token: Type.Optional(
      Type.Union(
        [
          Type.Object({ header, secret: secretText({ title: 'Secret', description: 'The token.' }) }, closed),
          Type.Null(),
        ],
        {
          default: null,
          title: 'Token',
          description: 'Only requests whose header carries this text are taken.',
        },
      ),
    ),
  },
  closed,
)
export type WebhookSettings = Static<typeof WebhookSettings>

/** Requests that come from outside, to `/hooks/{flow}/{node}`. */
export const webhookType: NodeTypeDefinition<WebhookSettings> = {
  name: 'webhook',
  title: 'Webhook',
  summary: 'Publishes what requests to its address carry, and answers them, at once or with a message of the flow.',
  settings: WebhookSettings,
  inputs: { kind: 'none' },
  outputs: {
    kind: 'known',
    ports: [
      {
        name: 'body',
        dtypes: ['json', 'str', 'artifact', 'image', 'audio', 'video'],
        description: 'The body of the request.',
      },
      { name: 'query', dtypes: ['json'], description: 'The parameters of the address.' },
      {
        name: 'headers',
        dtypes: ['json'],
        description: 'The header fields, names in lower case, without credentials.',
      },
    ],
  },
  place: 'front',
  side_effects: true,
  check({ node, settings: { answer = null }, refuse }) {
    if (node.ports.outputs.length === 0) refuse('validation', 'ports.outputs', 'a webhook publishes at least one port')
    if (answer !== null && node.ports.outputs.some(({ message }) => message === answer))
      refuse(
        'bad_settings',
        'settings.answer',
        `the node publishes "${answer}" itself; name a message that a reader publishes`,
      )
  },
}
