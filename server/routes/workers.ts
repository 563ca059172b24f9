import Type, { type TString } from 'typebox'
import { WorkerResources } from '../../protocol/worker/resources.ts'
import type { Workers } from '../calls/resource-desk.ts'
import type { Engine } from '../engine.ts'
import { runId, wholeRun } from '../http/parse/short-ids.ts'
import { ok, type Route, route } from '../http/route.ts'

export function workerRoutes({ workers, engine }: { workers: Workers; engine: Pick<Engine, 'runs'> }): Route[] {
  return [
    route({
      method: 'GET',
      path: '/workers/resources',
      scope: 'read',
      tag: 'workers',
      summary: 'Returns the resources of each machine, which nodes hold them since when, and which nodes wait.',
      query: Type.Object({ run: Type.Optional(runId.schema as TString) }, { additionalProperties: false }),
      answers: { 200: WorkerResources },
      refuses: ['ambiguous_id', 'run_not_found'],
      handle: async ({ query }) => {
        const run = query.run === undefined ? null : await wholeRun(engine.runs, query.run)
        return ok({ ...workers.resources(run), runs: engine.runs.places() })
      },
    }),
  ]
}
