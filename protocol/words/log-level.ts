/** Without schemas, for threads that load none; the schema is in run-log.ts. */
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]
