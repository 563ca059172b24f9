import Type, { type Static } from 'typebox'

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]
export const LogLevel = Type.Unsafe<LogLevel>(Type.Union(LOG_LEVELS.map(word => Type.Literal(word))))

export const RunLogLine = Type.Object({
  seq: Type.Integer({ minimum: 1, description: 'Its place in the log of the run: 1, 2, 3 ...' }),
  ts: Type.String({ description: 'When the body wrote it.' }),
  node: Type.String({ description: 'The id of the node.' }),
  attempt: Type.Integer({ description: 'The attempt of the run.' }),
  level: LogLevel,
  text: Type.String(),
})
export type RunLogLine = Static<typeof RunLogLine>

export const RunLogPage = Type.Object({
  items: Type.Array(RunLogLine),
  next_after: Type.Union([Type.Integer(), Type.Null()], {
    description:
      'Pass it as `after` for the lines that follow. The same number as before: there are no more lines yet. Null: the run has ended, and no line follows.',
  }),
  dropped: Type.Integer({ description: 'Lines over the bounds of the run, or written while nothing could be stored.' }),
})
export type RunLogPage = Static<typeof RunLogPage>
