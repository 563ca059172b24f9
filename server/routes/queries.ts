import Type, { type TSchema } from 'typebox'
import { ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import { parseTime } from '../../protocol/time.ts'

/** Members that the queries of several routes share. Every integer is bounded on both sides. */
export const pageQuery = {
  limit: Type.Integer({ minimum: 1, maximum: limits.LIST_LIMIT, default: limits.LIST_LIMIT_DEFAULT }),
  offset: Type.Integer({ minimum: 0, maximum: limits.LIST_OFFSET, default: 0 }),
}

const time = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: 40, description: `${description} RFC 3339 with an offset.` }))
export const sinceQuery = time('From this time on.')
export const untilQuery = time('Before this time.')

export const closed = { additionalProperties: false }

/** What lists answer with: a page of items, and how many there are over all pages. */
export const listOf = (item: TSchema) => Type.Object({ items: Type.Array(item), count: Type.Integer() })

/**
 * Microseconds since 1970, or null when the member is absent. A `+` that was not percent-encoded arrives as a blank before the
 * offset and is understood.
 */
export function microseconds(name: 'since' | 'until' | 'before', text: string | undefined): number | null {
  if (text === undefined) return null
  const us = parseTime(text.replace(/ (?=\d\d:\d\d$)/, '+'))
  if (us !== null) return us
  throw new ServiceError('validation', 'The query was refused.', {
    errors: [
      { loc: `query.${name}`, msg: 'must be an RFC 3339 time with an offset, such as 2026-01-01T00:00:00+00:00' },
    ],
  })
}
