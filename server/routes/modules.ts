import type { Engine } from '../engine.ts'
import { nothing, type Route, route } from '../http/route.ts'

export function moduleRoutes({ engine }: { engine: Pick<Engine, 'refreshModules'> }): Route[] {
  return [
    route({
      method: 'POST',
      path: '/modules/refresh',
      scope: 'code',
      tag: 'modules',
      summary: 'Reloads every body and its imports. Installs nothing.',
      audit: { action: 'modules_refreshed', object: 'modules' },
      answers: { 204: null },
      refuses: ['rebuilding'],
      handle: async () => {
        await engine.refreshModules()
        return nothing
      },
    }),
  ]
}
