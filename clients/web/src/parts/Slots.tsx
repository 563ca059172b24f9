const MOST = 24

/** One box for each thing that can be held, as long as that can be counted with the eye; then a share of 24 boxes. */
export function Slots({ held, of, label }: { held: number; of: number; label: string }) {
  const boxes = Math.min(MOST, Math.ceil(of))
  const on = of === 0 ? 0 : Math.ceil((held / of) * boxes - 1e-9)
  return (
    <span className="slots" role="img" aria-label={label}>
      {Array.from({ length: boxes }, (_, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a box is its place
        <i key={at} className={at < on ? 'on' : undefined} />
      ))}
    </span>
  )
}
