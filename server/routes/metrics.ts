import type { Engine } from '../engine.ts'
import { type Route, route } from '../http/route.ts'

const PROMETHEUS = 'text/plain; version=0.0.4; charset=utf-8'

export function metricsRoutes({ engine }: { engine: Pick<Engine, 'observe'> }): Route[] {
  return [
    route({
      method: 'GET',
      path: '/metrics',
      who: 'user',
      tag: 'observability',
      summary: 'The figures as Prometheus text; the scraper signs in with a bearer token.',
      answers: { 200: { media: PROMETHEUS } },
      handle: () => ({ status: 200, content: { type: PROMETHEUS, bytes: engine.observe.prometheus() } }),
    }),
  ]
}
