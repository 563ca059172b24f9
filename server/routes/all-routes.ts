import type { Workers } from '../calls/resource-desk.ts'
import type { Engine } from '../engine.ts'
import type { Flavors } from '../flows/flavors.ts'
import type { Route } from '../http/route.ts'
import { type McpServices, mcpRoutes } from '../mcp/routes.ts'
import type { Secrets } from '../secrets/secrets.ts'
import { webRoutes } from '../web/routes.ts'
import { type ClientServices, clientRoutes } from './accounts/clients.ts'
import { type LoginServices, loginRoutes } from './accounts/login.ts'
import { type OAuthServices, oauthRoutes } from './accounts/oauth.ts'
import { type SearchServices, searchRoutes } from './accounts/search.ts'
import { secretRoutes } from './accounts/secrets.ts'
import { type TokenServices, tokenRoutes } from './accounts/tokens.ts'
import { type UserServices, userRoutes } from './accounts/users.ts'
import { artifactRoutes } from './artifacts.ts'
import { audited } from './audited.ts'
import { cascadeRoutes } from './cascades.ts'
import { eventRoutes } from './events.ts'
import { flavorRoutes } from './flavors.ts'
import { flowRoutes } from './flows.ts'
import { healthRoutes } from './health.ts'
import { hookRoutes } from './hooks.ts'
import { messageRoutes } from './messages.ts'
import { metricsRoutes } from './metrics.ts'
import { moduleRoutes } from './modules.ts'
import { nodeTypeRoutes } from './node-types.ts'
import { nodeRoutes } from './nodes.ts'
import { observabilityRoutes } from './observability.ts'
import { openapiRoutes } from './openapi.ts'
import { runLogRoutes } from './run-logs.ts'
import { runRoutes } from './runs.ts'
import { type DashboardServices, dashboardRoutes } from './screens/dashboards.ts'
import { type PanelServices, panelRoutes } from './screens/panels.ts'
import { tileTypeRoutes } from './screens/tile-types.ts'
import { workerRoutes } from './workers.ts'

export interface Services
  extends LoginServices,
    UserServices,
    TokenServices,
    ClientServices,
    McpServices,
    DashboardServices,
    OAuthServices,
    PanelServices,
    SearchServices {
  readonly engine: Engine
  readonly flavors: Flavors
  readonly workers: Workers
  readonly secrets: Secrets
}

/** Every route of the service. */
export function allRoutes(services: Services): Route[] {
  const routes: Route[] = [
    ...flowRoutes(services),
    ...messageRoutes(services),
    ...nodeRoutes(services),
    ...nodeTypeRoutes(),
    ...hookRoutes(services),
    ...cascadeRoutes(services),
    ...runRoutes(services),
    ...runLogRoutes(services),
    ...artifactRoutes(services),
    ...flavorRoutes(services),
    ...secretRoutes(services),
    ...searchRoutes(services),
    ...workerRoutes(services),
    ...tileTypeRoutes(),
    ...dashboardRoutes(services),
    ...panelRoutes(services),
    ...eventRoutes(services),
    ...observabilityRoutes(services),
    ...metricsRoutes(services),
    ...healthRoutes(services),
    ...moduleRoutes(services),
    ...loginRoutes(services),
    ...userRoutes(services),
    ...tokenRoutes(services),
    ...oauthRoutes(services),
    ...clientRoutes(services),
    ...mcpRoutes(services),
    ...webRoutes(),
  ]
  routes.push(...openapiRoutes(() => routes))
  return routes.map(route => audited(route, services.audit))
}
