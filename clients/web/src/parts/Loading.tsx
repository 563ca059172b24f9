import { useEffect, useState } from 'react'

const QUIET_MS = 150

/** Nothing for 150 ms, then grey bars in the height of the rows that come. */
export function Loading({ rows = 4, label = 'Loading' }: { rows?: number; label?: string }) {
  const [isShown, setShown] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), QUIET_MS)
    return () => clearTimeout(timer)
  }, [])
  return (
    <div className="sk-rows" role="status" aria-label={label}>
      {isShown &&
        Array.from({ length: rows }, (_, row) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: they are all alike
          <div className="sk" key={row}>
            <span className="skeleton" />
            <span className="skeleton" />
            <span className="skeleton" />
          </div>
        ))}
    </div>
  )
}
