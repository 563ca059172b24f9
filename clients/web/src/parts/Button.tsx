import type { ButtonHTMLAttributes, ReactNode } from 'react'
import { Icon, type IconName } from './Icon.tsx'

type Attributes = Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'className'>

export interface ButtonProps extends Attributes {
  readonly icon?: IconName
  /** At most one `main` in a view. */
  readonly kind?: 'plain' | 'main' | 'danger' | 'quiet'
  readonly isBusy?: boolean
  readonly children?: ReactNode
}

const CLASSES = { plain: 'btn', main: 'btn btn-main', danger: 'btn btn-danger', quiet: 'btn btn-quiet' }

export function Button({ icon, kind = 'plain', isBusy = false, children, ...attributes }: ButtonProps) {
  return (
    <button type="button" {...attributes} className={CLASSES[kind]} aria-busy={isBusy || undefined}>
      {icon !== undefined && <Icon name={icon} />}
      {children}
    </button>
  )
}

/** A button that shows an icon alone; `label` is read aloud and shown as its tooltip. */
export function IconButton({
  icon,
  label,
  kind = 'quiet',
  ...attributes
}: Attributes & { icon: IconName; label: string; kind?: ButtonProps['kind'] }) {
  return (
    <button
      type="button"
      title={label}
      aria-label={label}
      {...attributes}
      className={`${CLASSES[kind ?? 'quiet']} btn-icon`}
    >
      <Icon name={icon} />
    </button>
  )
}
