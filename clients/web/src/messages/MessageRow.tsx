import { useEffect, useRef } from 'react'
import type { ValueFrame } from '../../../client/index.ts'
import { live } from '../engine/live.ts'
import { paintNoMore, paintSoon } from '../engine/painter.ts'
import { ageText, rateText, valueText } from '../parts/format.ts'
import { Icon } from '../parts/Icon.tsx'
import { Rate } from './rate.ts'
import type { Row } from './tree.ts'

const AGAIN_MS = 1_000

interface MessageRowProps {
  readonly id: string
  readonly row: Row
  readonly top: number
  readonly isChosen: boolean
  onClick(): void
}

export function MessageRow({ id, row, top, isChosen, onClick }: MessageRowProps) {
  const style = { transform: `translateY(${top}px)` }
  if (row.kind === 'flow')
    return (
      // biome-ignore lint/a11y/useKeyWithClickEvents: the tree takes the keys
      // biome-ignore lint/a11y/useFocusableInteractive: the tree has the focus, and names the active row
      <div
        className="m-row m-flow"
        style={style}
        id={id}
        role="treeitem"
        aria-level={1}
        aria-expanded={row.is_open}
        onClick={onClick}
      >
        <span className="cut">
          <Icon name={row.is_open ? 'down' : 'chev'} />
          <b className="strong">{row.name}</b>
        </span>
        <span className="only-wide" />
        <span className="num muted">
          {row.count} {row.count === 1 ? 'message' : 'messages'}
        </span>
      </div>
    )
  const { name, dtype, publisher, value, updated_at, version } = row.message
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the tree takes the keys
    // biome-ignore lint/a11y/useFocusableInteractive: the tree has the focus, and names the active row
    <div
      className="m-row"
      style={style}
      id={id}
      role="treeitem"
      aria-level={2}
      aria-selected={isChosen}
      onClick={onClick}
    >
      <span className="cut ink m-name" title={name}>
        {row.short}
      </span>
      <span className="muted small only-wide">{dtype}</span>
      <Newest key={name} name={name} first={{ value, updated_at, version }} />
      <span className="muted only-big cut">
        {publisher === null ? 'from outside' : publisher.slice(publisher.indexOf('.') + 1)}
      </span>
    </div>
  )
}

interface First {
  readonly value: unknown
  readonly updated_at: string | null
  readonly version: number
}

/** Value, age and rate; written into the page by themselves. */
function Newest({ name, first }: { name: string; first: First }) {
  const value = useRef<HTMLSpanElement>(null)
  const age = useRef<HTMLSpanElement>(null)
  const rate = useRef<HTMLSpanElement>(null)
  useEffect(() => {
    const rates = new Rate()
    let newest: Pick<ValueFrame, 'value' | 'ts'> | null =
      first.updated_at === null ? null : { value: first.value, ts: first.updated_at }
    const paint = (): void => {
      if (value.current === null || age.current === null || rate.current === null) return
      const now_ms = Date.now()
      value.current.textContent = newest === null ? 'never set' : valueText(newest.value, 60)
      age.current.textContent = newest === null ? '' : ageText((now_ms - Date.parse(newest.ts)) / 1000)
      const per_s = rates.perSecond(now_ms)
      rate.current.textContent = per_s === null ? '' : `${rateText(per_s)} /s`
    }
    paint()
    const end = live.value(name, frame => {
      newest = frame
      rates.add(frame.version, Date.now())
      paintSoon(paint)
    })
    const timer = setInterval(() => paintSoon(paint), AGAIN_MS)
    return () => {
      end()
      clearInterval(timer)
      paintNoMore(paint)
    }
  }, [name, first.value, first.updated_at])
  return (
    <>
      <span ref={value} className="num ink cut" />
      <span ref={age} className="num muted small" />
      <span ref={rate} className="num only-wide" />
    </>
  )
}
