import { useEffect } from 'react'
import { live, useLink } from '../engine/live.ts'
import { Glyph } from '../parts/Glyph.tsx'

/** Whether what the page shows is alive. */
export function LinkState() {
  const { isOpen, since_ms } = useLink()
  useEffect(() => live.events(() => {}), [])
  return (
    <span className="link-state only-wide" role="status">
      <Glyph name={isOpen ? 'live' : since_ms === null ? 'pending' : 'down'} />
      {isOpen ? 'live' : since_ms === null ? 'connecting' : 'no connection'}
    </span>
  )
}
