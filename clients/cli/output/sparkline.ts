const BLOCKS = '▁▂▃▄▅▆▇█'

/** The newest `width` points as block characters between minimum and maximum; a constant is in the middle. */
export function sparkline(points: readonly number[], width: number): string {
  const shown = points.slice(-width)
  const least = Math.min(...shown)
  const span = Math.max(...shown) - least
  return shown
    .map(point => {
      const share = span > 0 && Number.isFinite(span) ? (point - least) / span : 0.5
      return BLOCKS[Math.min(BLOCKS.length - 1, Math.floor(share * BLOCKS.length))]
    })
    .join('')
}
