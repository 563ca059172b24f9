import type { DiskClass } from '../../../../protocol/nouns/summary.ts'
import { Card } from '../parts/Card.tsx'
import { bytesText } from '../parts/format.ts'
import { Meter } from '../parts/Meter.tsx'

const NEARLY_FULL = 0.85

/** What each class of data holds of its budget; those without a budget only have a size. */
export function Disk({ classes }: { classes: readonly DiskClass[] }) {
  return (
    <Card title="Disk">
      <dl className="disk">
        {classes.map(({ class: name, bytes, budget_bytes }) => {
          const share = budget_bytes === null ? 0 : bytes / budget_bytes
          return [
            <dt key="name">{name.replace('_', ' ')}</dt>,
            <dd key="share">
              {budget_bytes !== null && (
                <Meter
                  share={share}
                  label={`${name} ${Math.round(share * 100)} percent`}
                  {...(share >= NEARLY_FULL ? { kind: 'warn' as const } : {})}
                />
              )}
            </dd>,
            <dd key="bytes" className="num">
              <span className="ink">{bytesText(bytes)}</span>
              {budget_bytes !== null && <span className="muted"> of {bytesText(budget_bytes)}</span>}
            </dd>,
          ]
        })}
      </dl>
    </Card>
  )
}
