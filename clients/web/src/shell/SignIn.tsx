import { type FormEvent, useState } from 'react'
import { signIn, useSession } from '../engine/session.ts'
import { Button } from '../parts/Button.tsx'
import { Dialog } from '../parts/Dialog.tsx'
import { Icon } from '../parts/Icon.tsx'
import { Problem } from '../parts/Problem.tsx'

function SignInForm({ name }: { name?: string }) {
  const [error, setError] = useState<unknown>(null)
  const [isBusy, setBusy] = useState(false)
  const submit = async (event: FormEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    setBusy(true)
    try {
      await signIn(String(form.get('username')), String(form.get('password')))
    } catch (refusal) {
      setError(refusal)
      setBusy(false)
    }
  }
  return (
    <form className="sign" onSubmit={event => void submit(event)}>
      <div className="field">
        <label htmlFor="sign-name">Name</label>
        <input
          className="input"
          id="sign-name"
          name="username"
          autoComplete="username"
          required
          defaultValue={name}
          readOnly={name !== undefined}
        />
      </div>
      <div className="field">
        <label htmlFor="sign-password">Password</label>
        <input
          className="input"
          id="sign-password"
          name="password"
          type="password"
          autoComplete="current-password"
          required
        />
      </div>
      {error !== null && <Problem error={error} />}
      <Button kind="main" type="submit" isBusy={isBusy} disabled={isBusy}>
        Sign in
      </Button>
    </form>
  )
}

export function SignIn() {
  return (
    <main className="alone">
      <div className="card sign-card">
        <h1 className="row sign-title">
          <Icon name="flow" />
          Flow engine
        </h1>
        <SignInForm />
        <p className="hint">
          First time? The engine printed the name and the password when it started for the first time;{' '}
          <span className="mono">svc users passwd</span> sets a new one.
        </p>
      </div>
    </main>
  )
}

/** Over the page, which keeps all that was typed. */
export function SignInAgain() {
  const name = useSession(({ user }) => user?.name)
  return (
    <Dialog title="Your session has ended" onClose={() => {}}>
      <p>Sign in again. Nothing on the page behind this is lost.</p>
      <SignInForm {...(name === undefined ? {} : { name })} />
    </Dialog>
  )
}
