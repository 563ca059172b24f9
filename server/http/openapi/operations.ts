import type { TObject } from 'typebox'
import type { Route } from '../route.ts'

/** Names for operations whose method and path make no readable name. */
export const OPERATIONS: Readonly<Record<string, string>> = {
  'PUT /flows/{name}': 'saveFlow',
  'GET /flows/{name}/history': 'listFlowCommits',
  'GET /flows/{name}/history/{commit}': 'getFlowCommit',
  'GET /flows/{name}/nodes/{id}/source': 'getNodeSource',
  'GET /node-types': 'listNodeTypes',
  'GET /hooks/{flow}/{node}': 'getHook',
  'POST /hooks/{flow}/{node}': 'postHook',
  'PUT /hooks/{flow}/{node}': 'putHook',
  'PATCH /hooks/{flow}/{node}': 'patchHook',
  'DELETE /hooks/{flow}/{node}': 'deleteHook',
  'GET /messages/{name}/history': 'getMessageHistory',
  'POST /messages/': 'publishMessages',
  'POST /messages/{name}': 'publishMessage',
  'POST /runs/flows/{name}': 'createRun',
  'PATCH /runs/{id}': 'changeRun',
  'GET /runs/export': 'exportRuns',
  'GET /runs/metrics/export': 'exportRunMetrics',
  'GET /runs/metrics/series': 'listRunMetricSeries',
  'GET /runs/{id}/nodes/{node}/why': 'explainRunNode',
  'PUT /artifacts': 'storeArtifact',
  'GET /tile-types': 'listTileTypes',
  'PUT /dashboards/{name}': 'saveDashboard',
  'GET /dashboards/{name}/history': 'listDashboardVersions',
  'GET /dashboards/{name}/history/{version}': 'getDashboardVersion',
  'GET /panels/me': 'getOwnPanel',
  'PUT /panels/{id}': 'changePanel',
  'POST /panels/pairings': 'startPairing',
  'POST /panels/pairings/{code}/claim': 'claimPairing',
  'POST /login/access-token': 'signIn',
  'POST /login/session': 'signInBrowser',
  'POST /logout': 'signOut',
  'POST /password-recovery': 'recoverPassword',
  'POST /password-reset': 'resetPassword',
  'GET /tokens': 'listLastingTokens',
  'POST /tokens': 'createLastingToken',
  'DELETE /tokens/{name}': 'revokeLastingToken',
  'GET /.well-known/oauth-protected-resource': 'getProtectedResource',
  'GET /.well-known/oauth-protected-resource/mcp': 'getProtectedMcp',
  'GET /.well-known/oauth-authorization-server': 'getAuthorizationServer',
  'POST /oauth/register': 'registerClient',
  'GET /oauth/authorize': 'showConsent',
  'POST /oauth/authorize': 'decideConsent',
  'POST /oauth/token': 'exchangeToken',
  'POST /oauth/revoke': 'revokeToken',
  'GET /secrets/': 'listSecrets',
  'PUT /secrets/{name}': 'putSecret',
  'POST /secret-keys': 'rekeySecrets',
  'GET /clients': 'listClients',
  'POST /clients': 'createClient',
  'DELETE /clients/{client_id}': 'deleteClient',
  'GET /users/me': 'getOwnUser',
  'PATCH /users/me': 'changeOwnUser',
  'POST /users/me/password': 'changePassword',
  'GET /observability/summary': 'getSummary',
  'GET /observability/timeseries': 'getTimeseries',
  'GET /utils/health/': 'getHealth',
  'GET /metrics': 'getMetrics',
  'GET /openapi.json': 'getDescription',
  'GET /docs': 'getDocsPage',
}

const VERBS = { GET: 'get', POST: 'create', PUT: 'put', PATCH: 'change', DELETE: 'delete' } as const

/**
 * `GET /runs` is `listRuns`, `GET /runs/{id}/nodes` is `listRunNodes`, `POST /flows/{name}/rename` is `renameFlow`: a verb, then what
 * the path names. Generated clients call their functions so.
 */
export function operationIdOf({ method, path, answers }: Pick<Route, 'method' | 'path' | 'answers'>): string {
  const given = OPERATIONS[`${method} ${path}`]
  if (given !== undefined) return given
  const parts = path.split('/').filter(part => part !== '')
  const words: string[] = []
  for (const [at, part] of parts.entries()) {
    if (part.startsWith('{')) continue
    const isOne = parts[at + 1]?.startsWith('{') === true
    const isOwner = at < parts.length - 1
    words.push(isOne || (isOwner && parts.length > 2) ? singular(part) : part)
  }
  const last = parts.at(-1)!
  if (method === 'POST' && parts.length > 1 && !last.startsWith('{')) {
    const verb = words.pop()!
    const things = parts.length === 2 ? [parts[0]!] : words
    return [verb, ...things.map(capital)].join('')
  }
  const isList = 'items' in (((answers[200] as TObject | null | undefined)?.properties ?? {}) as object)
  const verb = method === 'GET' && isList ? 'list' : VERBS[method]
  if (method === 'POST') words.push(singular(words.pop()!))
  return [verb, ...words.map(capital)].join('')
}

const singular = (word: string): string => word.replace(/s$/, '')
const capital = (word: string): string => word.replace(/^./, letter => letter.toUpperCase())
