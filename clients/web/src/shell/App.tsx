import { Suspense } from 'react'
import { Router } from 'wouter'
import { askWhoIAm, useSession } from '../engine/session.ts'
import { Loading } from '../parts/Loading.tsx'
import { Problem } from '../parts/Problem.tsx'
import { Pages } from './Pages.tsx'
import { Shell } from './Shell.tsx'
import { SignIn, SignInAgain } from './SignIn.tsx'

export function App() {
  const { state, error } = useSession()
  if (state === 'asking') return <Loading label="Asking the engine who you are" />
  if (state === 'away')
    return (
      <main className="alone">
        <Problem error={error} onRetry={() => void askWhoIAm()} />
      </main>
    )
  if (state === 'out') return <SignIn />
  return (
    <Router base="/app">
      <Shell>
        <Suspense fallback={<Loading />}>
          <Pages />
        </Suspense>
      </Shell>
      {state === 'ended' && <SignInAgain />}
    </Router>
  )
}
