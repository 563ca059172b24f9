import type { ReactNode } from 'react'

/** What may be wider or longer than its place. The keyboard scrolls it, so it can have the focus and has a name. */
export function Scroll({
  label,
  className = '',
  children,
}: {
  label: string
  className?: string
  children: ReactNode
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: who has no mouse could not scroll it otherwise
    <section className={`table-wrap ${className}`} aria-label={label} tabIndex={0}>
      {children}
    </section>
  )
}
