/** A status is a shape first, then a word, then a colour: look/components.css has the colours. */
const SHAPES = {
  live: (
    <>
      <circle cx="6" cy="6" r="3.2" fill="currentColor" stroke="none" />
    </>
  ),
  idle: (
    <>
      <circle cx="6" cy="6" r="3.6" />
    </>
  ),
  off: (
    <>
      <path d="M4.2 3v6M7.8 3v6" />
    </>
  ),
  running: (
    <>
      <g className="spin">
        <path d="M6 1.5a4.5 4.5 0 1 1-4.5 4.5" />
      </g>
      <circle cx="6" cy="6" r="1.5" fill="currentColor" stroke="none" />
    </>
  ),
  succeeded: (
    <>
      <path d="M2.2 6.5 4.8 9 9.8 3.2" />
    </>
  ),
  failed: (
    <>
      <rect x="1" y="1" width="10" height="10" rx="1.5" fill="currentColor" stroke="none" />
      <path d="M4 4l4 4M8 4 4 8" stroke="var(--surface)" />
    </>
  ),
  queued: (
    <>
      <circle cx="6" cy="6" r="4.3" />
      <path d="M6 3.8V6l1.5 1" />
    </>
  ),
  pending: (
    <>
      <circle cx="6" cy="6" r="4.3" stroke-dasharray="1.5 2" />
    </>
  ),
  cached: (
    <>
      <rect x="1.5" y="3.8" width="6.7" height="6.7" rx="1" />
      <path d="M4.2 1.5h5.3a1 1 0 0 1 1 1v5.3" />
    </>
  ),
  skipped: (
    <>
      <path d="M2.5 6h7" />
    </>
  ),
  cancelled: (
    <>
      <circle cx="6" cy="6" r="4.3" />
      <path d="M3 9l6-6" />
    </>
  ),
  warn: (
    <>
      <path d="M6 1.8 11 10.5H1z" />
      <path d="M6 5v2.3M6 9v.1" />
    </>
  ),
  waiting: (
    <>
      <path d="M3 1.5h6M3 10.5h6M3.5 1.5c0 3 5 6 5 9M8.5 1.5c0 3-5 6-5 9" />
    </>
  ),
  down: (
    <>
      <path d="M1 1.8h10L6 10.5z" fill="currentColor" stroke="none" />
    </>
  ),
  error: (
    <>
      <rect x="1" y="1" width="10" height="10" rx="1.5" fill="currentColor" stroke="none" />
      <path d="M6 3.3v3.2M6 8.8v.1" stroke="var(--surface)" />
    </>
  ),
  advice: (
    <>
      <circle cx="6" cy="6" r="4.5" />
      <path d="M6 5.5v3M6 3.5v.1" />
    </>
  ),
  stale: (
    <>
      <circle cx="6" cy="6" r="4.3" stroke-dasharray="2 1.8" />
      <path d="M6 4v2.2l1.5.8" />
    </>
  ),
}
export type GlyphName = keyof typeof SHAPES

/** Without a label it is decoration: the word stands beside it. */
export function Glyph({ name, label }: { name: GlyphName; label?: string }) {
  const className = `g g-${name}`
  if (label === undefined)
    return (
      <svg className={className} viewBox="0 0 12 12" aria-hidden="true">
        {SHAPES[name]}
      </svg>
    )
  return (
    <svg className={className} viewBox="0 0 12 12" role="img" aria-label={label}>
      {SHAPES[name]}
    </svg>
  )
}

export function Status({ name, word = name }: { name: GlyphName; word?: string }) {
  return (
    <span className={`status s-${name}`}>
      <Glyph name={name} />
      {word}
    </span>
  )
}
