import {
  type AuthInfo,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { VERSION } from '../../protocol/version.ts'
import type { Audit } from '../auth/audit.ts'
import { type Caller, mayDo } from '../auth/principal.ts'
import type { Engine } from '../engine.ts'
import { callTool } from './call.ts'
import { getPrompt, listPrompts } from './prompts.ts'
import { listResources, readResource, resourceTemplates } from './resources.ts'
import type { Search, Tool, ToolContext } from './tool.ts'
import { flowTools } from './tools/flows.ts'
import { messageTools } from './tools/messages.ts'
import { metricTools } from './tools/metrics.ts'
import { nodeTools } from './tools/nodes.ts'
import { observeTools } from './tools/observe.ts'
import { runTools } from './tools/runs.ts'

export interface McpServices {
  readonly engine: Engine
  readonly audit: Audit
  readonly search: Search
  readonly onDefect: (error: unknown) => void
}

/** Every tool, in the order in which they are listed. */
export const TOOLS: readonly Tool[] = [
  ...flowTools,
  ...nodeTools,
  ...messageTools,
  ...runTools,
  ...metricTools,
  ...observeTools,
]
const BY_NAME: ReadonlyMap<string, Tool> = new Map(TOOLS.map(tool => [tool.name, tool]))

const listed = new Map(
  TOOLS.map(({ name, title, description, input, reads_only }) => [
    name,
    { name, title, description, inputSchema: input as never, annotations: { title, readOnlyHint: reads_only } },
  ]),
)

const INFO = { name: 'flow-engine', title: 'Flow engine', version: VERSION }
const INSTRUCTIONS =
  'Flows are documents of nodes that publish and read messages. They run live, and as batch runs with recorded results. ' +
  'Before you change a flow: read_flow, validate_flow, then save_flow with base_version. To try it: start_run, then follow_run.'

/**
 * The server of one request, or of one session. Made of parts that are made once: registering two dozen tools anew for each request
 * would take longer than most calls.
 */
export function mcpServer(services: McpServices): Server {
  const server = new Server(INFO, {
    capabilities: { tools: {}, resources: {}, prompts: {} },
    instructions: INSTRUCTIONS,
  })
  server.setRequestHandler('tools/list', (_request, context) => {
    const { caller } = asked(context)
    return { tools: TOOLS.filter(({ scope }) => mayDo(caller, scope)).map(({ name }) => listed.get(name)!) }
  })
  server.setRequestHandler('tools/call', ({ params }, context) => {
    const tool = BY_NAME.get(params.name)
    if (tool === undefined)
      throw new ProtocolError(
        ProtocolErrorCode.InvalidParams,
        `There is no tool ${JSON.stringify(params.name.slice(0, 100))}; tools/list lists them.`,
      )
    return callTool(tool, params.arguments ?? {}, toolContext(services, context), services.onDefect)
  })
  const of = (context: ServerContext): ToolContext => toolContext(services, context)
  server.setRequestHandler('resources/list', ({ params }, context) => listResources(of(context), params?.cursor))
  server.setRequestHandler('resources/templates/list', resourceTemplates)
  server.setRequestHandler('resources/read', ({ params }, context) => readResource(of(context), params.uri))
  server.setRequestHandler('prompts/list', (_request, context) => listPrompts(of(context)))
  server.setRequestHandler('prompts/get', ({ params }, context) =>
    getPrompt(of(context), params.name, params.arguments ?? {}),
  )
  return server
}

/** Who asks, and from where, as the endpoint has put it beside the request. */
function asked({ http }: ServerContext): { caller: Caller; address: string } {
  const { extra } = (http as { authInfo: AuthInfo }).authInfo
  return extra as { caller: Caller; address: string }
}

function toolContext({ engine, audit, search }: McpServices, context: ServerContext): ToolContext {
  const { caller, address } = asked(context)
  return {
    engine,
    caller,
    search,
    signal: context.mcpReq.signal,
    done: (action, object) => audit.done({ action, actor: caller.actor, object, address }),
  }
}
