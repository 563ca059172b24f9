/** @jsxImportSource preact */
import { useEffect, useState } from 'preact/hooks'
import { Client } from '../../../client/client.ts'

const ASK_MS = 2_000
const AGAIN_MS = 5_000

/** Shows a code until somebody has approved it, and takes the token then. A code that ends is followed by another one. */
export function Pairing({ url, onToken }: { url: string; onToken: (token: string) => void }) {
  const [code, setCode] = useState<string | null>(null)
  const [error, setError] = useState<string | null>(null)
  useEffect(() => {
    const { panels } = new Client({ url })
    let timer: ReturnType<typeof setTimeout>
    let hasEnded = false
    const after = (ms: number, next: () => Promise<void>): void => {
      if (!hasEnded) timer = setTimeout(() => void next(), ms)
    }
    const start = async (): Promise<void> => {
      try {
        const started = await panels.startPairing()
        setCode(started.code)
        setError(null)
        const ask = async (): Promise<void> => {
          try {
            const claimed = await panels.claim(started)
            if ('token' in claimed) {
              if (!hasEnded) onToken(claimed.token)
            } else after(ASK_MS, ask)
          } catch {
            // It has ended, or the engine is away: another code comes of both.
            after(AGAIN_MS, start)
          }
        }
        after(ASK_MS, ask)
      } catch (failure) {
        setError(failure instanceof Error ? failure.message : String(failure))
        after(AGAIN_MS, start)
      }
    }
    void start()
    return () => {
      hasEnded = true
      clearTimeout(timer)
    }
  }, [url, onToken])
  return (
    <main className="pairing">
      <h1>Pair this screen</h1>
      <p className="pairing-code" aria-live="polite">
        {code ?? '······'}
      </p>
      <p>
        Somebody who may change panels types this code: in the web app under Dashboards, or with{' '}
        <span className="mono">svc panels approve</span>.
      </p>
      {error !== null && (
        <p className="pairing-error" role="alert">
          {error}
        </p>
      )}
    </main>
  )
}
