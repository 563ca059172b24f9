/** Without schemas, for threads that load none; those are in run.ts. */
export const RUN_STATUSES = ['queued', 'running', 'succeeded', 'failed', 'cancelled'] as const
export type RunStatus = (typeof RUN_STATUSES)[number]
/** `queued` and `running` are live; the others are final. */
export const isLive = (status: RunStatus): boolean => status === 'queued' || status === 'running'
