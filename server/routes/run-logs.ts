import Type from 'typebox'
import { limits } from '../../protocol/limits.ts'
import { NAME_PATTERN } from '../../protocol/names.ts'
import { LogLevel, RunLogPage } from '../../protocol/nouns/run-log.ts'
import type { Engine } from '../engine.ts'
import { runId, wholeRun } from '../http/parse/short-ids.ts'
import { ok, type Route, route } from '../http/route.ts'
import { closed } from './queries.ts'

export function runLogRoutes({ engine }: { engine: Pick<Engine, 'run_logs' | 'runs'> }): Route[] {
  return [
    route({
      method: 'GET',
      path: '/runs/{id}/logs',
      scope: 'read',
      object: 'any',
      tag: 'runs',
      summary: 'Lists the log lines of a run after a given line.',
      params: { id: runId },
      query: Type.Object(
        {
          after: Type.Integer({
            minimum: 0,
            maximum: Number.MAX_SAFE_INTEGER,
            default: 0,
            description: 'Only lines after this one: `seq` of the last line that the client has.',
          }),
          limit: Type.Integer({ minimum: 1, maximum: limits.RUN_LOG_PAGE_LINES, default: limits.RUN_LOG_PAGE_LINES }),
          node: Type.Optional(
            Type.String({ pattern: NAME_PATTERN, description: 'Only lines of the node with this id.' }),
          ),
          level: Type.Optional(
            Type.Unsafe<LogLevel>({
              ...LogLevel,
              description: 'Only lines of this level or a more severe one: debug, info, warn, error.',
            }),
          ),
        },
        closed,
      ),
      answers: { 200: RunLogPage },
      refuses: ['ambiguous_id'],
      handle: async ({ params, query }) => {
        const { after, limit, node = null, level = null } = query as { after: number; limit: number } & Chosen
        const bytes = limits.RUN_LOG_PAGE_BYTES
        return ok(
          await engine.run_logs.page({ run: await wholeRun(engine.runs, params.id), after, limit, bytes, node, level }),
        )
      },
    }),
  ]
}

interface Chosen {
  node?: string
  level?: LogLevel
}
