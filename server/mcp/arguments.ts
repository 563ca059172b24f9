import Type from 'typebox'
import { ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import { FlowName } from '../../protocol/nouns/flow.ts'
import { parseTime } from '../../protocol/time.ts'

/** Arguments that several tools take. */
export const closed = { additionalProperties: false }

export const flowName = { ...FlowName, description: 'Name of a flow.' }
export const runId = Type.String({
  pattern: '^[0-9a-f-]{4,36}$',
  description: 'Id of a run, or the first characters of it or of its last group.',
})

export const page = {
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: limits.MCP_LIST_ITEMS, description: 'Items at most; 50 when absent.' }),
  ),
  offset: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: limits.LIST_OFFSET,
      description: 'Items to pass over: next_offset of the page before.',
    }),
  ),
}

export const pageOf = ({ limit = 50, offset = 0 }: { limit?: number; offset?: number }) => ({ limit, offset })

const time = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: 40, description: `${description} RFC 3339 with an offset.` }))
export const since = time('Only what happened from this time on.')
export const until = time('Only what happened before this time.')

/** Microseconds since 1970; null when it is absent. */
export function timeOf(name: string, text: string | undefined): number | null {
  if (text === undefined) return null
  const us = parseTime(text)
  if (us !== null) return us
  throw new ServiceError('validation', 'The arguments were refused.', {
    errors: [{ loc: `arguments.${name}`, msg: 'must be a time such as 2026-01-01T00:00:00+00:00' }],
  })
}
