import Type, { type TSchema } from 'typebox'
import { ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import type { List } from '../../protocol/nouns/list.ts'
import { parseTime } from '../../protocol/time.ts'
import { type Answer, ok } from '../http/route.ts'
import { pageOf } from '../list-page.ts'

/** Members that the queries of several routes share. Every integer is bounded on both sides. */
export const pageQuery = {
  limit: Type.Integer({ minimum: 1, maximum: limits.LIST_LIMIT, default: limits.LIST_LIMIT_DEFAULT }),
  offset: Type.Integer({ minimum: 0, maximum: limits.LIST_OFFSET, default: 0 }),
}

const time = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: 40, description: `${description} RFC 3339 with an offset.` }))
export const sinceQuery = time('Only items from this time on.')
export const untilQuery = time('Before this time.')

export const closed = { additionalProperties: false }

/** What lists answer with: a page of items, how many there are over all pages, and where the next page begins. */
export const listOf = (item: TSchema) =>
  Type.Object({
    items: Type.Array(item, {
      description: `A page has fewer than \`limit\` items when it would be longer than ${limits.LIST_BYTES} bytes.`,
    }),
    count: Type.Integer({ description: 'The number of items on all pages.' }),
    next: Type.Optional(Type.Integer({ description: 'The offset of the next page; absent on the last one.' })),
  })

/** As much of it as a page may hold. */
export const okPage = ({ items, count }: List<unknown>, offset: number): Answer => ok(pageOf(items, count, offset))

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
