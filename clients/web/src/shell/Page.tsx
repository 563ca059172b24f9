import { type ReactNode, useEffect } from 'react'
import { createPortal } from 'react-dom'
import { Link } from 'wouter'

/** A crumb that leads somewhere, or the name of where you are. */
export type Crumb = string | { readonly name: string; readonly path: string }

const nameOf = (crumb: Crumb): string => (typeof crumb === 'string' ? crumb : crumb.name)

/** The inside of the shell: its crumbs, which are the title, and what stands in the top bar beside them, both go there. */
export function Page({
  crumbs,
  actions,
  isBare = false,
  children,
}: {
  crumbs: readonly Crumb[]
  actions?: ReactNode
  /** Without the margin of a page: it fills the window. */
  isBare?: boolean
  children: ReactNode
}) {
  const title = crumbs.map(nameOf).reverse().join(' · ')
  useEffect(() => {
    document.title = title
  }, [title])
  const top = document.getElementById('crumbs')
  return (
    <>
      {top !== null &&
        createPortal(
          <>
            <nav aria-label="Where you are" className="grow">
              <ol className="crumbs">
                {crumbs.map((crumb, at) => (
                  <li key={nameOf(crumb)} className={at < crumbs.length - 1 ? 'only-wide' : undefined}>
                    {typeof crumb === 'string' ? (
                      <h1 className="cut crumb-here" aria-current="page">
                        {crumb}
                      </h1>
                    ) : (
                      <Link href={crumb.path}>{crumb.name}</Link>
                    )}
                  </li>
                ))}
              </ol>
            </nav>
            {actions}
          </>,
          top,
        )}
      <main id="main" className={isBare ? 'bare' : 'page'} tabIndex={-1}>
        {children}
      </main>
    </>
  )
}
