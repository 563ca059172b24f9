import type { Engine, Flavors, Workers } from './engine.ts'
import type { Route } from './route.ts'
import { artifactRoutes } from './routes/artifacts.ts'
import { cascadeRoutes } from './routes/cascades.ts'
import { eventRoutes } from './routes/events.ts'
import { flavorRoutes } from './routes/flavors.ts'
import { flowRoutes } from './routes/flows.ts'
import { healthRoutes } from './routes/health.ts'
import { type LoginServices, loginRoutes } from './routes/login.ts'
import { messageRoutes } from './routes/messages.ts'
import { metricsRoutes } from './routes/metrics.ts'
import { moduleRoutes } from './routes/modules.ts'
import { nodeRoutes } from './routes/nodes.ts'
import { observabilityRoutes } from './routes/observability.ts'
import { openapiRoutes } from './routes/openapi.ts'
import { runRoutes } from './routes/runs.ts'
import { type UserServices, userRoutes } from './routes/users.ts'
import { workerRoutes } from './routes/workers.ts'

export interface Services extends LoginServices, UserServices {
  readonly engine: Engine
  readonly flavors: Flavors
  readonly workers: Workers
}

/** Every route of the service. */
export function allRoutes(services: Services): Route[] {
  const routes: Route[] = [
    ...flowRoutes(services),
    ...messageRoutes(services),
    ...nodeRoutes(services),
    ...cascadeRoutes(services),
    ...runRoutes(services),
    ...artifactRoutes(services),
    ...flavorRoutes(services),
    ...workerRoutes(services),
    ...eventRoutes(services),
    ...observabilityRoutes(services),
    ...metricsRoutes(services),
    ...healthRoutes(services),
    ...moduleRoutes(services),
    ...loginRoutes(services),
    ...userRoutes(services),
  ]
  routes.push(...openapiRoutes(() => routes))
  return routes
}
