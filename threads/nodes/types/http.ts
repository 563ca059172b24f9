import Type, { type Static } from 'typebox'
import type { NodeTypeDefinition } from '../node-type.ts'
import { secretText } from '../secrets.ts'
import { checkWeb, originOf, webAddress, webHeaders, webTimeout } from '../web-settings.ts'

export const HttpSettings = Type.Object(
  {
    method: Type.Optional(
      Type.Union(
        [
          Type.Literal('GET'),
          Type.Literal('HEAD'),
          Type.Literal('POST'),
          Type.Literal('PUT'),
          Type.Literal('PATCH'),
          Type.Literal('DELETE'),
        ],
        { default: 'POST', title: 'Method', description: 'The method of the request.' },
      ),
    ),
    url: webAddress('Where the request goes, `http` or `https`.'),
    headers: webHeaders,
    query: Type.Optional(
      Type.Record(Type.String(), secretText({ description: 'One parameter.' }), {
        default: {},
        title: 'Query',
        description: 'Fixed parameters that are added to the address.',
      }),
    ),
    send_inputs: Type.Optional(
      Type.Boolean({
        default: true,
        title: 'Send inputs',
        description:
          'False: the inputs only trigger the request and are not sent. GET, HEAD and DELETE send them as parameters.',
      }),
    ),
    format: Type.Optional(
      Type.Union([Type.Literal('json'), Type.Literal('form'), Type.Literal('raw')], {
        default: 'json',
        title: 'Format',
        description:
          'How the inputs are sent: one JSON object, the fields of a form, or the value of the one input as it is.',
      }),
    ),
    timeout_s: webTimeout('A request that has not been answered by then fails; further tries are included.'),
  },
  { additionalProperties: false },
)
export type HttpSettings = Static<typeof HttpSettings>

/** Sends a request for each execution, and publishes what is answered. */
export const httpType: NodeTypeDefinition<HttpSettings> = {
  name: 'http',
  title: 'HTTP request',
  summary: 'Sends an HTTP request with its inputs, and publishes status, headers and body of the answer.',
  settings: HttpSettings,
  inputs: { kind: 'any', description: 'Each is a member of what is sent.' },
  outputs: {
    kind: 'known',
    ports: [
      { name: 'status', dtypes: ['int'], description: 'The status of the answer.' },
      {
        name: 'body',
        dtypes: ['json', 'str', 'artifact', 'image', 'audio', 'video'],
        description: 'The body of the answer.',
      },
      { name: 'headers', dtypes: ['json'], description: 'The header fields of the answer, names in lower case.' },
    ],
  },
  place: 'connectors',
  side_effects: true,
  targetKey: ({ url }) => originOf(url),
  check(of) {
    checkWeb(of)
    const { node, settings, refuse } = of
    const { length } = node.ports.inputs
    if (settings.format === 'raw' && settings.send_inputs !== false && length !== 1)
      refuse('bad_settings', 'settings.format', `"raw" sends the value of one input port, and there are ${length}`)
  },
}
