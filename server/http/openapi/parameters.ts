import type { Json } from './nouns.ts'

interface Told {
  readonly description: string
  readonly example: unknown
  readonly format?: 'date-time'
}

const FLOW: Told = { description: 'Name of a flow.', example: 'boiler' }
const NODE: Told = { description: 'Id of a node within its flow.', example: 'smoother' }
const RUN: Told = { description: 'Id of a run.', example: '0195a3c4-7b10-7cc2-9d54-2f1e6a9b0c11' }
const TIME = { example: '2026-03-01T12:00:00+00:00', format: 'date-time' } as const

/** What a parameter is, with an example, where it means the same in every route. */
const EVERYWHERE: Readonly<Record<string, Told>> = {
  limit: { description: 'The maximum number of items in the answer.', example: 50 },
  offset: { description: 'Items to pass over first: `next` of the page before.', example: 0 },
  since: { description: 'Only items from this time on. RFC 3339 with an offset.', ...TIME },
  until: { description: 'Only items before this time. RFC 3339 with an offset.', ...TIME },
  before: {
    description: 'Only items before this time. For the next page: the time of the last item. RFC 3339 with an offset.',
    ...TIME,
  },
  until_version: {
    description: 'Together with `until`: also the points at exactly that time whose version is lower than this.',
    example: 812,
  },
  bucket_s: { description: 'Answer bins of this many seconds instead of single points.', example: 60 },
  hours: { description: 'The time range up to now in hours, when `since` is absent; 0 means one hour.', example: 24 },
  actor: { description: 'Only events of type `audit` of what this caller did.', example: 'ada' },
  action: { description: 'Only events of type `audit` of this action.', example: 'flow_saved' },
  flow: FLOW,
  node: NODE,
  run: RUN,
  commit: { description: 'A commit of the flow store, or its first characters.', example: '3f2a9c1b' },
  group: { description: 'Name of a group of runs.', example: 'learning-rates' },
  tag: { description: 'Only runs with this tag. Repeat it for runs that have all of the tags.', example: ['baseline'] },
  stride: { description: 'Only every n-th point of each series, starting with the first.', example: 10 },
  format: { description: 'The format of the rows.', example: 'csv' },
  raw: { description: 'csv: do not escape cells that a spreadsheet would read as a formula.', example: false },
  metrics: { description: 'Metric names, separated by commas; each becomes a column.', example: 'detector.train.loss' },
  after: { description: 'Only items after the item with this number.', example: 0 },
  level: { description: 'Only lines of this level or a more severe one.', example: 'warn' },
  columns: { description: 'More columns, separated by commas.', example: 'seed,group' },
  digest: { description: 'Digest of an artifact.', example: `sha256:${'0123456789abcdef'.repeat(4)}` },
  media_type: {
    description: 'The media type of the answer (default: application/octet-stream).',
    example: 'image/png',
  },
  client_id: { description: 'Id of a client.', example: '0195a3c4-7b10-7cc2-9d54-2f1e6a9b0c12' },
  'idempotency-key': {
    description: 'A second request with the same key returns the existing run.',
    example: 'sweep-7-lr-0.01',
  },
  'x-artifact-meta': { description: 'A JSON object to store in the reference.', example: '{"camera":"dock"}' },
  range: { description: 'The bytes to answer, as in RFC 9110.', example: 'bytes=0-1023' },
  'if-range': {
    description: 'Answer the range only when the artifact has this entity tag.',
    example: '"0123456789abcdef"',
  },
  'if-none-match': { description: 'Answer 304 when the artifact has this entity tag.', example: '"0123456789abcdef"' },
}

/** Parameters whose name means something else below a path. The first that fits counts. */
const UNDER: readonly (readonly [path: string, name: string, told: Told])[] = [
  ['/messages', 'name', { description: 'Name of a message: `<flow>.<message>`.', example: 'boiler.temperature' }],
  ['/search', 'q', { description: 'Words of a name or a text, or their beginnings.', example: 'boiler temp' }],
  ['/secrets', 'name', { description: 'Name of a secret.', example: 'api key' }],
  ['/flavors', 'name', { description: 'Name of a flavor.', example: 'small-gpu' }],
  ['/dashboards', 'name', { description: 'Name of a dashboard.', example: 'hall' }],
  ['/dashboards', 'version', { description: 'A version of the dashboard.', example: '3' }],
  ['/panels/pairings', 'code', { description: 'The code that the screen shows.', example: 'K7Q2MX' }],
  ['/panels', 'id', { description: 'Id of a panel.', example: '0195a3c4-7b10-7cc2-9d54-2f1e6a9b0c11' }],
  ['/tokens', 'name', { description: 'Name of a lasting token.', example: 'prometheus' }],
  ['/users', 'name', { description: 'Name of a user.', example: 'ada' }],
  ['/runs/metrics', 'name', { description: '`<flow>.<node>.<name>`', example: 'detector.train.loss' }],
  ['/flows/{name}/nodes', 'id', NODE],
  ['/flows', 'name', FLOW],
  ['/runs/flows', 'name', FLOW],
  ['/cascades', 'id', { description: 'Id of a cascade.', example: '0195a3c4-7b10-7001-8000-0000000000a1' }],
  ['/cascades', 'status', { description: 'Only cascades of this status.', example: 'failed' }],
  ['/oauth', 'response_type', { description: '`code`', example: 'code' }],
  [
    '/oauth',
    'client_id',
    { description: 'Id of the client, from its registration.', example: '4f1c6ad2-8d0b-4b6e-9f0e-3f2a9c1b7d10' },
  ],
  [
    '/oauth',
    'redirect_uri',
    {
      description: 'Where the answer goes: one that the client registered.',
      example: 'http://127.0.0.1:3000/callback',
    },
  ],
  [
    '/oauth',
    'code_challenge',
    {
      description: 'SHA-256 of the verifier, in base64url (RFC 7636).',
      example: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    },
  ],
  ['/oauth', 'code_challenge_method', { description: '`S256`', example: 'S256' }],
  ['/oauth', 'scope', { description: 'Scopes, with blanks between; `read` when absent.', example: 'read run' }],
  ['/oauth', 'state', { description: 'Comes back with the answer as it is.', example: 'xyz' }],
  [
    '/oauth',
    'resource',
    { description: 'The address of the MCP endpoint (RFC 8707).', example: 'http://127.0.0.1:8700/mcp' },
  ],
  ['/oauth', 'prompt', { description: 'Ignored: the page is always shown.', example: 'consent' }],
  ['/oauth', 'nonce', { description: 'Ignored.', example: 'xyz' }],
  ['/runs', 'id', RUN],
  ['/runs', 'status', { description: 'Only runs of this status.', example: 'succeeded' }],
  ['/events', 'type', { description: 'Only events of this type.', example: 'node_error' }],
]

/** What the description says of a parameter beside its schema; its schema's own words come first. */
export function toldOf(path: string, name: string, schema: unknown): Json {
  const told = UNDER.find(([under, of]) => of === name && path.startsWith(under))?.[2] ?? EVERYWHERE[name]
  const { description, examples } = schema as { description?: string; examples?: unknown[] }
  return {
    ...(told === undefined ? {} : { description: told.description, example: told.example }),
    ...(description === undefined ? {} : { description }),
    ...(examples === undefined ? {} : { example: examples[0] }),
  }
}

/** The format of times. The engine's own parser checks them and takes a little more than the format. */
export const formatOf = (name: string): Json => {
  const format = EVERYWHERE[name]?.format
  return format === undefined ? {} : { format }
}
