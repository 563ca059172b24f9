import { ClientError } from '../../../client/index.ts'

/** What went wrong in words for a person, and the stable code of a refusal. */
export function problemOf(error: unknown): { text: string; code: string | null; status: number | null } {
  if (!(error instanceof ClientError))
    return { text: error instanceof Error ? error.message : String(error), code: null, status: null }
  const { message, problem, status } = error
  return { text: message, code: problem === null ? null : `${status} ${problem.code}`, status }
}

export const isSignedOut = (error: unknown): boolean => problemOf(error).status === 401
