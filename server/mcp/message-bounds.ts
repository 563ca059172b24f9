import { ServiceError } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'

/**
 * The package holds messages against schemas member by member, all at once. So a message of more members than any client sends is
 * refused before. What stands in an argument of a tool is not looked into, here and there: the tool checks it.
 */
export function assertBounded(body: unknown): void {
  let left = limits.MCP_MESSAGE_PARTS
  const weigh = (value: unknown, isArguments: boolean): void => {
    if (typeof value !== 'object' || value === null || left < 0) return
    if (Array.isArray(value)) {
      left -= value.length
      if (left >= 0) for (const item of value) weigh(item, false)
      return
    }
    for (const key in value) {
      if (--left < 0) return
      if (!isArguments) weigh((value as Record<string, unknown>)[key], key === 'arguments')
    }
  }
  weigh(body, false)
  if (left >= 0) return
  throw new ServiceError(
    'validation',
    `A message has at most ${limits.MCP_MESSAGE_PARTS} members and items, besides what stands in the arguments of a tool.`,
  )
}
