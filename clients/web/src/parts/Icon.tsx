import { ICONS, type IconName } from './icons.ts'

export type { IconName }

/** Decoration: what it means stands beside it, or in the label of its button. */
export function Icon({ name, className = '' }: { name: IconName; className?: string }) {
  return (
    <svg className={`i ${className}`} viewBox="0 0 16 16" aria-hidden="true">
      <path d={ICONS[name]} />
    </svg>
  )
}
