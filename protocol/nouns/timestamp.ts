import Type from 'typebox'

/** A time as answers give it: RFC 3339 in UTC, with microseconds. */
export const Timestamp = Type.String({ format: 'date-time', examples: ['2026-03-01T12:00:00.000000+00:00'] })
