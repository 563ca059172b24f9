import {
  type ListResourcesResult,
  type ListResourceTemplatesResult,
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
  ResourceNotFoundError,
} from '@modelcontextprotocol/server'
import { ServiceError } from '../../protocol/errors.ts'
import { isName } from '../../protocol/names.ts'
import { NODE_TYPES } from '../../threads/nodes/types/index.ts'
import { mayDo } from '../auth/principal.ts'
import type { Engine } from '../engine.ts'
import { nodeTypeGuide } from './guides.ts'
import { textOf } from './results.ts'
import { recordOf } from './run-records.ts'
import type { ToolContext } from './tool.ts'
import { inTools } from './tool-hints.ts'
import { shownFlow } from './tools/flows.ts'

/** Flows of one page of the list of resources; node types come with the first one. */
const PAGE = 200
const JSON_TYPE = 'application/json'
const URI = /^svc:\/\/(flows|node-types|runs)\/([A-Za-z0-9_-]{1,64})$/

const TEMPLATES = [
  {
    kind: 'flows',
    variable: 'name',
    title: 'A flow',
    description: 'The document of a flow, with its version and issues.',
    mimeType: JSON_TYPE,
  },
  {
    kind: 'node-types',
    variable: 'name',
    title: 'A node type',
    description: 'The page of a type of node.',
    mimeType: 'text/markdown',
  },
  { kind: 'runs', variable: 'id', title: 'A run', description: 'The record of a run.', mimeType: JSON_TYPE },
] as const

export const resourceTemplates = (): ListResourceTemplatesResult => ({
  resourceTemplates: TEMPLATES.map(({ kind, variable, ...shown }) => ({
    name: kind,
    uriTemplate: `svc://${kind}/{${variable}}`,
    ...shown,
  })),
})

export function listResources({ engine, caller }: ToolContext, cursor: string | undefined): ListResourcesResult {
  if (!mayDo(caller, 'read')) return { resources: [] }
  const offset = cursor === undefined ? 0 : Number(cursor)
  if (!Number.isSafeInteger(offset) || offset < 0)
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'This cursor is not one of this list; begin without one.')
  const { items, next } = engine.flows.list({ limit: PAGE, offset })
  const flows = items.map(({ name }) => ({
    uri: `svc://flows/${name}`,
    name,
    title: `Flow ${name}`,
    mimeType: JSON_TYPE,
  }))
  return {
    resources: offset === 0 ? [...TYPES, ...flows] : flows,
    ...(next === undefined ? {} : { nextCursor: String(next) }),
  }
}

const TYPES = NODE_TYPES.map(({ name, title, summary }) => ({
  uri: `svc://node-types/${name}`,
  name,
  title: `Node type ${title}`,
  description: summary,
  mimeType: 'text/markdown',
}))

/** Throws errors of the protocol: what a resource answers is no place for a refusal. */
export async function readResource({ engine, caller }: ToolContext, uri: string): Promise<ReadResourceResult> {
  if (!mayDo(caller, 'read'))
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'Resources need the scope "read".', { code: 'forbidden' })
  const [, kind = '', name = ''] = URI.exec(uri) ?? []
  try {
    const shown = await content(engine, kind, name)
    if (shown === null) throw new ResourceNotFoundError(uri, 'There is no such resource; resources/list lists them.')
    const mimeType = typeof shown === 'string' ? 'text/markdown' : JSON_TYPE
    return { contents: [{ uri, mimeType, text: await textOf(shown) }] }
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    const message = inTools(error.code, error.detail)
    if (error.status === 404) throw new ResourceNotFoundError(uri, message)
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, message, { code: error.code })
  }
}

async function content({ flows, runs }: Engine, kind: string, name: string): Promise<object | string | null> {
  if (kind === 'flows') return isName(name) ? shownFlow(flows.get(name)) : null
  if (kind === 'runs') return (await recordOf(await runs.text(name))).shown
  return kind === 'node-types' ? nodeTypeGuide(name) : null
}
