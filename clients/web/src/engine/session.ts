import { create } from 'zustand'
import type { OwnUser } from '../../../../protocol/nouns/accounts/user.ts'
import type { Scope } from '../../../../protocol/words/scopes.ts'
import { client } from './client.ts'
import { isSignedOut } from './problem.ts'

/**
 *   asking --me--> in | out | away         when the page opens
 *   in --a call answers 401--> ended       the page stays as it is; signing in goes over it, and nothing is lost
 *   ended, out --sign in--> in
 *   in --sign out--> out
 */
export type SessionState = 'asking' | 'in' | 'ended' | 'out' | 'away'

interface SessionStore {
  readonly state: SessionState
  readonly user: OwnUser | null
  /** Why the engine could not be asked. */
  readonly error: unknown
}

export const useSession = create<SessionStore>(() => ({ state: 'asking', user: null, error: null }))

export async function askWhoIAm(): Promise<void> {
  try {
    useSession.setState({ state: 'in', user: await client.users.me(), error: null })
  } catch (error) {
    useSession.setState(isSignedOut(error) ? { state: 'out', user: null } : { state: 'away', error })
  }
}

/** Throws a ClientError. */
export async function signIn(name: string, password: string): Promise<void> {
  const { user } = await client.startSession(name, password)
  useSession.setState({ state: 'in', user, error: null })
}

export async function signOut(): Promise<void> {
  await client.logout()
  useSession.setState({ state: 'out', user: null })
}

/** Called with every failure of a call. */
export function heedFailure(error: unknown): void {
  if (isSignedOut(error) && useSession.getState().state === 'in') useSession.setState({ state: 'ended' })
}

/** May the user do what needs this scope? What may not be done stays visible, and says why. */
export const useMay = (scope: Scope): boolean => useSession(({ user }) => user?.scopes.includes(scope) ?? false)
