const WIDTH = 96
const HEIGHT = 20

/** A small line of the last values, oldest first; null is a gap. From zero upward, since it shows rates. */
export function Spark({
  values,
  label,
  kind = '',
}: {
  values: readonly (number | null)[]
  label: string
  kind?: '' | 'warn' | 'error'
}) {
  const most = Math.max(1e-9, ...values.map(value => value ?? 0))
  const x = (at: number): number => 1 + (at / Math.max(1, values.length - 1)) * (WIDTH - 4)
  const y = (value: number): number => HEIGHT - 2.5 - (value / most) * (HEIGHT - 5)
  let path = ''
  values.forEach((value, at) => {
    if (value === null) return
    path += `${at === 0 || values[at - 1] == null ? 'M' : 'L'}${x(at).toFixed(1)} ${y(value).toFixed(1)}`
  })
  const last = values.at(-1)
  const area =
    values.includes(null) || values.length < 2 ? null : `${path}L${x(values.length - 1)} ${HEIGHT}L1 ${HEIGHT}z`
  return (
    <svg
      className={`spark ${kind && `spark-${kind}`}`}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      role="img"
      aria-label={label}
    >
      {area !== null && <path className="area" d={area} />}
      <path d={path} />
      {last != null && <circle className="last" cx={x(values.length - 1)} cy={y(last)} r="1.8" />}
    </svg>
  )
}
