import { ServiceError } from '../../protocol/errors.ts'
import { Health } from '../../protocol/nouns/summary.ts'
import type { Engine } from '../engine.ts'
import { ok, type Route, route } from '../http/route.ts'

export function healthRoutes({ engine }: { engine: Pick<Engine, 'observe'> }): Route[] {
  return [
    route({
      method: 'GET',
      path: '/utils/health/',
      scope: 'open',
      tag: 'observability',
      summary: 'Checks whether the engine works. Fails when a thread that it needs does not answer.',
      answers: { 200: Health },
      refuses: ['unhealthy'],
      handle: async () => {
        try {
          return ok(await engine.observe.health())
        } catch (error) {
          throw new ServiceError('unhealthy', error instanceof ServiceError ? error.detail : undefined)
        }
      },
    }),
  ]
}
