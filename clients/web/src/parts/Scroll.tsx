import type { HTMLAttributes, Ref } from 'react'

/** What may be wider or longer than its place. The keyboard scrolls it, so it can have the focus and has a name. */
export function Scroll({
  label,
  className = 'table-wrap',
  ...rest
}: HTMLAttributes<HTMLElement> & { label: string; ref?: Ref<HTMLElement> }) {
  // biome-ignore lint/a11y/noNoninteractiveTabindex: who has no mouse could not scroll it otherwise
  return <section {...rest} className={className} aria-label={label} tabIndex={0} />
}
