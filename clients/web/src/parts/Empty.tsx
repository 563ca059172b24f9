import type { ReactNode } from 'react'
import { Icon, type IconName } from './Icon.tsx'

/** What this is, why it is empty, and the one step out of it. */
export function Empty({ icon, title, children }: { icon: IconName; title: string; children?: ReactNode }) {
  return (
    <div className="empty">
      <Icon name={icon} />
      <h2>{title}</h2>
      {children}
    </div>
  )
}
