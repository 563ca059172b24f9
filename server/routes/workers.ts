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
      summary: 'What each machine has, who holds it since when, and which nodes wait for what.',
      answers: { 200: WorkerResources },
      handle: () => ok({ ...workers.resources(), runs: engine.runs.places() }),
    }),
  ]
}
