import { type ReactNode, useEffect, useId, useRef } from 'react'

/** The browser's own dialog: it keeps the focus within, Escape closes it, and the focus goes back. Only for what cannot be undone or decided later. */
export function Dialog({
  title,
  onClose,
  foot,
  children,
}: {
  title: string
  onClose: () => void
  foot?: ReactNode
  children: ReactNode
}) {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => dialog.current?.showModal(), [])
  return (
    <dialog ref={dialog} className="dialog" aria-labelledby={id} onClose={onClose}>
      <div className="dialog-head">
        <h2 id={id}>{title}</h2>
      </div>
      <div className="dialog-body">{children}</div>
      {foot !== undefined && <div className="dialog-foot">{foot}</div>}
    </dialog>
  )
}
