import type { ReactNode } from 'react'
import { problemOf } from '../engine/problem.ts'
import { Button } from './Button.tsx'
import { Glyph } from './Glyph.tsx'

/** A refusal at its place: what the engine says, the next step, and the code in small letters for whoever asks for help. */
export function Problem({ error, onRetry, children }: { error: unknown; onRetry?: () => void; children?: ReactNode }) {
  const { text, code } = problemOf(error)
  return (
    <div className="notice notice-error" role="alert">
      <Glyph name="error" />
      <div>
        <p>{text}</p>
        {(onRetry !== undefined || children !== undefined) && (
          <div className="row notice-actions">
            {onRetry !== undefined && <Button onClick={onRetry}>Try again</Button>}
            {children}
          </div>
        )}
        {code !== null && <p className="micro mono muted">{code}</p>}
      </div>
    </div>
  )
}
