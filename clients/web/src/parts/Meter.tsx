/** How full something is, 0 to 1; `label` says it in words. */
export function Meter({ share, label, kind }: { share: number; label: string; kind?: 'accent' | 'warn' | 'error' }) {
  const width = `${Math.round(Math.max(0, Math.min(1, share)) * 1000) / 10}%`
  return (
    <span className="meter" role="img" aria-label={label}>
      <i className={kind} style={{ width }} />
    </span>
  )
}
