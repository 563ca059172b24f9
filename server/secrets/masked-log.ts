import type { Masks } from '../../core/masks/table.ts'
import type { Log, LogFields } from '../observe/serve-log.ts'

/** The log without secrets: what it is told goes through the masks first. */
export function maskedLog(log: Log, masks: Masks): Log {
  const masked = (fields: LogFields | undefined): LogFields | undefined => {
    if (fields === undefined || masks.isEmpty) return fields
    return Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, masks.deep(told(value))]))
  }
  return {
    info: (event, fields) => log.info(event, masked(fields)),
    warn: (event, fields) => log.warn(event, masked(fields)),
    error: (event, fields) => log.error(event, masked(fields)),
  }
}

/** As the log writes it. */
function told(value: unknown): unknown {
  if (!(value instanceof Error)) return value
  const { name, message, stack } = value
  return { name, message, code: 'code' in value ? value.code : undefined, stack }
}
