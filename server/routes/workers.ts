import { WorkerResources } from '../../protocol/worker/resources.ts'
import type { Workers } from '../calls/resource-desk.ts'
import type { Engine } from '../engine.ts'
import { ok, type Route, route } from '../http/route.ts'

export function workerRoutes({ workers, engine }: { workers: Workers; engine: Pick<Engine, 'runs'> }): Route[] {
  return [
    route({
      method: 'GET',
      path: '/workers/resources',
      who: 'user',
      tag: 'workers',
      summary: 'Returns the resources of each machine, which nodes hold them since when, and which nodes wait.',
      answers: { 200: WorkerResources },
      handle: () => ok({ ...workers.resources(), runs: engine.runs.places() }),
    }),
  ]
}
