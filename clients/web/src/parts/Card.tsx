import type { ReactNode } from 'react'

/** One subject, with at most one action at the end of its head. */
export function Card({
  title,
  count,
  end,
  foot,
  className = '',
  children,
}: {
  title: string
  count?: number
  end?: ReactNode
  foot?: ReactNode
  className?: string
  children: ReactNode
}) {
  return (
    <section className={`card ${className}`}>
      <div className="card-head">
        <h2>
          {title}
          {count !== undefined && <span className="count"> {count}</span>}
        </h2>
        {end !== undefined && <div className="end">{end}</div>}
      </div>
      {children}
      {foot !== undefined && <div className="card-foot">{foot}</div>}
    </section>
  )
}
