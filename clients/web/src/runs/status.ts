import type { RunNodeStatus, RunStatus } from '../../../../protocol/nouns/run.ts'
import type { GlyphName } from '../parts/Glyph.tsx'

const GLYPHS: Readonly<Record<string, GlyphName>> = {
  ...{ queued: 'queued', running: 'running', succeeded: 'succeeded', failed: 'failed', cancelled: 'cancelled' },
  ...{ pending: 'pending', cached: 'cached', skipped: 'skipped' },
}

export const glyphOf = (status: RunStatus | RunNodeStatus): GlyphName => GLYPHS[status] ?? 'pending'

/** A run goes by the last four characters of its id: the first ones are its time, and alike. */
export const shortId = (id: string): string => id.slice(-4)

export const hasEnded = (status: RunStatus): boolean => status !== 'queued' && status !== 'running'
