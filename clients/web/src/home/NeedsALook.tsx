import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import type { FlowSummary } from '../../../../protocol/nouns/flow.ts'
import { Age } from '../parts/Age.tsx'
import { Button } from '../parts/Button.tsx'
import { Card } from '../parts/Card.tsx'
import { Glyph } from '../parts/Glyph.tsx'
import { type Attention, attentionOf } from './attention.ts'

const SHOWN = 8
const ACTIONS = { down: 'Open node', error: 'Open node', warn: 'Open flow', advice: null } as const

export const pathTo = ({ flow, node }: Pick<Attention, 'flow' | 'node'>): string =>
  `/flows/${encodeURIComponent(flow)}${node === null ? '' : `?node=${encodeURIComponent(node)}`}`

/** Trouble in a list of its own; advice is muted. Not there when there is none. */
export function NeedsALook({ flows }: { flows: readonly FlowSummary[] }) {
  const [isWhole, setWhole] = useState(false)
  const all = attentionOf(flows)
  if (all.length === 0) return null
  const shown = isWhole ? all : all.slice(0, SHOWN)
  const rest = all.length - shown.length
  return (
    <Card
      title="Needs a look"
      count={all.filter(({ kind }) => kind !== 'advice').length}
      {...(rest > 0
        ? {
            foot: (
              <button type="button" className="as-link" onClick={() => setWhole(true)}>
                {rest} more
              </button>
            ),
          }
        : {})}
    >
      <ul className="list attention">
        {shown.map(item => (
          <Line key={item.key} item={item} />
        ))}
      </ul>
    </Card>
  )
}

function Line({ item }: { item: Attention }) {
  const [, go] = useLocation()
  const { flow, node, kind, text, since } = item
  const action = ACTIONS[kind]
  const isAdvice = kind === 'advice'
  return (
    <li className={isAdvice ? 'row advice' : 'row'}>
      <Glyph name={kind} label={isAdvice ? 'advice' : kind} />
      <span className="who cut">
        <Link
          className={isAdvice ? undefined : 'strong'}
          href={pathTo(item)}
          title={node === null ? flow : `${flow}.${node}`}
        >
          {node === null ? flow : `${flow}.${node}`}
        </Link>
      </span>
      <span className="what grow">{text}</span>
      <span className="num muted small age">{since !== null && <Age at={since} />}</span>
      {action === null ? (
        <span className="act" />
      ) : (
        <span className="act">
          <Button onClick={() => go(pathTo(item))}>{action}</Button>
        </span>
      )}
    </li>
  )
}
