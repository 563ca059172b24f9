import Type, { type Static } from 'typebox'
import { type LogLevel as Level, LOG_LEVELS } from '../words/log-level.ts'

export const LogLevel = Type.Unsafe<Level>(Type.Union(LOG_LEVELS.map(word => Type.Literal(word))))
export type LogLevel = Level

export const RunLogLine = Type.Object({
  seq: Type.Integer({ minimum: 1, description: 'The number of the line in the log of the run, from 1.' }),
  ts: Type.String({ description: 'When the body wrote it.' }),
  node: Type.String({ description: 'The id of the node.' }),
  attempt: Type.Integer({ description: 'The attempt of the run.' }),
  level: LogLevel,
  text: Type.String(),
})
export type RunLogLine = Static<typeof RunLogLine>

export const RunLogPage = Type.Object({
  run: Type.String({ description: 'The whole id of the run.' }),
  items: Type.Array(RunLogLine),
  next_after: Type.Union([Type.Integer(), Type.Null()], {
    description:
      'Send it as `after` to get the next lines. It stays the same while there are no new lines. Null: the run has ended, and there are no more lines.',
  }),
  dropped: Type.Integer({
    description: 'Lines that were dropped: over the bounds of the run, or written while the disk took no writes.',
  }),
})
export type RunLogPage = Static<typeof RunLogPage>
