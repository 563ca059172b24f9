import { useEffect, useRef } from 'react'
import type { ValueFrame } from '../../../client/index.ts'
import { live } from '../engine/live.ts'
import { paintNoMore, paintSoon } from '../engine/painter.ts'
import { valueText } from './format.ts'

/** The newest value of a message, written straight into the page. `text` must be one function for as long as the part lives. */
export function LiveValue({
  name,
  className = '',
  text = ({ value }) => valueText(value),
}: {
  name: string
  className?: string
  text?: (frame: ValueFrame) => string
}) {
  const span = useRef<HTMLSpanElement>(null)
  const write = useRef(text)
  write.current = text
  useEffect(() => {
    let newest: ValueFrame | null = null
    const paint = (): void => {
      if (span.current !== null && newest !== null) span.current.textContent = write.current(newest)
    }
    const end = live.value(name, frame => {
      newest = frame
      paintSoon(paint)
    })
    return () => {
      end()
      paintNoMore(paint)
    }
  }, [name])
  return (
    <span ref={span} className={className}>
      –
    </span>
  )
}
