import { limits } from '../../protocol/limits.ts'
import type { Engine } from '../engine.ts'
import { type Route, route } from '../http/route.ts'

const PROMETHEUS = 'text/plain; version=0.0.4; charset=utf-8'

export function metricsRoutes({ engine }: { engine: Pick<Engine, 'observe'> }): Route[] {
  return [
    route({
      method: 'GET',
      path: '/metrics',
      scope: 'metrics',
      tag: 'observability',
      summary:
        'The figures as Prometheus text; the scraper sends a bearer token, such as a lasting one with the right `metrics`.',
      answers: { 200: { media: PROMETHEUS } },
      handle: () => ({
        status: 200,
        stream: { type: PROMETHEUS, length: null, chunks: chunksOf(engine.observe.prometheus()) },
      }),
    }),
  ]
}

/** Others have their turn between two chunks. */
async function* chunksOf(pieces: Iterable<string>): AsyncIterable<Uint8Array> {
  let text = ''
  for (const piece of pieces) {
    text += piece
    if (text.length < limits.STREAM_CHUNK_BYTES) continue
    yield Buffer.from(text)
    text = ''
    await new Promise(setImmediate)
  }
  yield Buffer.from(text)
}
