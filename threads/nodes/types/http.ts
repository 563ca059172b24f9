import Type, { type Static } from 'typebox'
import { limits } from '../../../protocol/limits.ts'
import type { NodeTypeDefinition } from '../node-type.ts'
import { secretText } from '../secrets.ts'

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
    url: Type.String({
      pattern: '^https?://',
      maxLength: limits.URL_CHARACTERS,
      title: 'Address',
      description: 'Where the request goes, `http` or `https`.',
    }),
    headers: Type.Optional(
      Type.Record(Type.String({ pattern: '^[A-Za-z0-9-]{1,128}$' }), secretText({ description: 'One header.' }), {
        default: {},
        title: 'Headers',
        description: 'Header fields that each request carries.',
      }),
    ),
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
        description: 'False: the inputs only trigger the request and are not sent.',
      }),
    ),
    timeout_s: Type.Optional(
      Type.Number({
        exclusiveMinimum: 0,
        maximum: limits.CONNECTOR_TIMEOUT_S_MAX,
        default: 30,
        unit: 's',
        title: 'Timeout',
        description: 'A request that has not been answered by then fails.',
      }),
    ),
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
      { name: 'body', dtypes: ['json', 'str', 'artifact'], description: 'The body of the answer.' },
      { name: 'headers', dtypes: ['json'], description: 'The header fields of the answer, names in lower case.' },
    ],
  },
  place: 'connectors',
  side_effects: true,
  targetKey: ({ url }) => new URL(url).origin,
}
