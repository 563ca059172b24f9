import { useEffect, useReducer } from 'react'
import { ageText } from './format.ts'

/** How long ago; the absolute time is its tooltip. Counts up by itself. */
export function Age({ at }: { at: string }) {
  const [, tick] = useReducer((count: number) => count + 1, 0)
  useEffect(() => {
    const timer = setInterval(tick, 1000)
    return () => clearInterval(timer)
  }, [])
  return (
    <time dateTime={at} title={new Date(at).toLocaleString()}>
      {ageText((Date.now() - Date.parse(at)) / 1000)}
    </time>
  )
}
