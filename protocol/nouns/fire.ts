import Type, { type Static } from 'typebox'
import { Timestamp } from './timestamp.ts'

const orNull = <Schema extends Type.TSchema>(schema: Schema, description: string) =>
  Type.Union([schema, Type.Null()], { description })

/** Occurrences of an inject node that went the same way, each within a minute of the one before. */
export const Fire = Type.Object({
  scheduled_at: Type.String({ ...Timestamp, description: 'When the first of them was to come.' }),
  last_scheduled_at: Type.String({ ...Timestamp, description: 'When the last of them was to come.' }),
  fired_at: orNull(Timestamp, 'When the first of them was published.'),
  last_fired_at: orNull(Timestamp, 'When the last of them was published.'),
  status: Type.Union([Type.Literal('fired'), Type.Literal('late'), Type.Literal('skipped')], {
    description: '`fired`: on time. `late`: by a second or more. `skipped`: not published.',
  }),
  late_s: Type.Number({ description: 'How much later than scheduled, at most.' }),
  reason: orNull(
    Type.Union([
      Type.Literal('engine_down'),
      Type.Literal('flow_disabled'),
      Type.Literal('flow_full'),
      Type.Literal('engine_busy'),
      Type.Literal('clock_jumped'),
      Type.Literal('time_repeated'),
      Type.Literal('catch_up'),
    ]),
    'Why they were skipped; `catch_up`: one value for those that were missed.',
  ),
  count: Type.Integer({ description: 'How many they are.' }),
  at_least: Type.Boolean({ description: 'There were more, which were not counted.' }),
})
export type Fire = Static<typeof Fire>

/** As the timer thread tells it, and the store keeps it: times in microseconds since 1970. */
export interface FireRun extends Pick<Fire, 'status' | 'reason' | 'late_s' | 'count' | 'at_least'> {
  readonly node: string
  /** Names the run among those of its node; later ones are larger. */
  readonly opened: number
  scheduled_us: number
  last_scheduled_us: number
  fired_us: number | null
  last_fired_us: number | null
}
