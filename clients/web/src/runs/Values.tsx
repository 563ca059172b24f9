import { Card } from '../parts/Card.tsx'
import { valueText } from '../parts/format.ts'

const SHORT = 200

/** Named values; long ones are opened. A reference to a picture or a sound is shown in its place. */
export function Values({ title, values }: { title: string; values: Readonly<Record<string, unknown>> }) {
  const entries = Object.entries(values)
  return (
    <Card title={title} count={entries.length}>
      <div className="card-body">
        {entries.length === 0 ? (
          <p className="muted">none</p>
        ) : (
          <dl className="dl">
            {entries.map(([name, value]) => [
              <dt key={`${name} name`}>{name}</dt>,
              <dd key={name}>
                <Value value={value} />
              </dd>,
            ])}
          </dl>
        )}
      </div>
    </Card>
  )
}

interface Reference {
  readonly digest: string
  readonly media_type: string
}

const isReference = (value: unknown): value is Reference =>
  typeof value === 'object' && value !== null && typeof (value as Partial<Reference>).digest === 'string'

function Value({ value }: { value: unknown }) {
  if (isReference(value)) return <Bytes {...value} />
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  if (text.length <= SHORT) return <span className="r-value">{valueText(value, SHORT)}</span>
  return (
    <details>
      <summary className="mono cut">{text.slice(0, 80)}…</summary>
      <pre className="well">{text.slice(0, 100_000)}</pre>
    </details>
  )
}

function Bytes({ digest, media_type }: Reference) {
  const url = `/artifacts/${digest}?media_type=${encodeURIComponent(media_type)}`
  const name = `${media_type}, ${digest.slice(7, 15)}`
  if (media_type.startsWith('image/')) return <img className="r-image" src={url} alt={name} loading="lazy" />
  if (media_type.startsWith('audio/'))
    // biome-ignore lint/a11y/useMediaCaption: what a flow records has no captions
    return <audio controls preload="none" src={url} />
  if (media_type.startsWith('video/'))
    // biome-ignore lint/a11y/useMediaCaption: what a flow records has no captions
    return <video className="r-image" controls preload="none" src={url} />
  return (
    <a className="link" href={url} download>
      {name}
    </a>
  )
}
