/** What a lasting token may do. `metrics`: `GET /metrics`, and nothing else that wants a token. */
export const RIGHTS = ['metrics'] as const
export type Right = (typeof RIGHTS)[number]
