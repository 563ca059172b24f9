import * as sdk from '@modelcontextprotocol/server'
import { type EndpointParts, McpEndpoint } from './endpoint.ts'
import { type McpServices, mcpServer } from './server.ts'

/** The endpoint over the engine. This file is loaded with the first request. */
export const openEndpoint = (services: McpServices & Pick<EndpointParts, 'holds' | 'now_ms'>): McpEndpoint =>
  new McpEndpoint({ sdk, server: () => mcpServer(services), ...services })
