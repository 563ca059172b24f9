import Type from 'typebox'
import { digestOf, hexOf } from '../../../protocol/artifact-names.ts'
import { type ErrorCode, ServiceError } from '../../../protocol/errors.ts'
import { limits } from '../../../protocol/limits.ts'
import type { List, Page } from '../../../protocol/nouns/list.ts'
import { existing } from '../route.ts'

/**
 * Ids as people give them: whole, or a part that is unique. Of a run the beginning of its id or of the last group of its
 * id (what stands behind the last hyphen): ids begin with the time, so runs of one minute begin alike, and the last group is
 * random. Of a cascade, which ends in its number, the beginning. Of an artifact the beginning of its hex digits.
 */
const WHOLE_ID = 36
const ID_TEXT = Type.String({ pattern: `^[0-9a-f-]{1,${WHOLE_ID}}$` })
export const runId = existing(
  { ...ID_TEXT, description: 'The id of a run, its first characters, or the first characters of its last group.' },
  'run_not_found',
)
export const cascadeId = existing(
  { ...ID_TEXT, description: 'The id of a cascade, or its first characters.' },
  'cascade_not_found',
)
export const artifactDigest = existing(
  Type.String({
    pattern: '^(sha256:)?[0-9a-f]{1,64}$',
    description: 'The digest of an artifact, or its first hex digits.',
  }),
  'artifact_not_found',
)

/** The engine, as far as it is asked here. */
interface Runs {
  idsFrom(text: string, most: number): Promise<string[]>
}
interface Artifacts {
  digestsFrom(hex: string, most: number): Promise<string[]>
}
interface Cascades {
  cascades(
    query: { flow: null; status: null; since_us: number; before_us: number } & Page,
  ): Promise<List<{ readonly id: string }>>
}

/** One more than is shown, to know that there are others. */
const MOST = limits.SHORT_ID_CANDIDATES + 1
/** Most cascades of one millisecond that are searched. */
const CASCADES = limits.LIST_LIMIT

export async function wholeRun(runs: Runs, text: string): Promise<string> {
  if (text.length === WHOLE_ID) return text
  assertLong(text, 'run_not_found')
  return oneOf(text, await runs.idsFrom(text, MOST), 'run_not_found')
}

export async function wholeDigest(artifacts: Artifacts, text: string): Promise<string> {
  if (hexOf(text) !== null) return text
  const hex = text.replace('sha256:', '')
  if (hexOf(digestOf(hex)) !== null) return digestOf(hex)
  assertLong(hex, 'artifact_not_found')
  return oneOf(text, await artifacts.digestsFrom(hex, MOST), 'artifact_not_found')
}

/** Searches the cascades that began in the time span that the beginning of the id stands for. */
export async function wholeCascade(observe: Cascades, text: string): Promise<string> {
  if (text.length === WHOLE_ID) return text
  assertLong(text, 'cascade_not_found')
  const time = text.replace('-', '').slice(0, 12)
  if (time.includes('-')) throw new ServiceError('cascade_not_found', `There is no cascade "${text}".`)
  const since_us = Number.parseInt(time.padEnd(12, '0'), 16) * 1000
  const before_us = (Number.parseInt(time.padEnd(12, 'f'), 16) + 1) * 1000
  const stretch = { flow: null, status: null, since_us, before_us }
  const { items, count } = await observe.cascades({ ...stretch, limit: CASCADES, offset: 0 })
  const found = items.map(({ id }) => id).filter(id => id.startsWith(text))
  // The page may have left some out: then at least one other id may begin in the same way.
  if (found.length === 1 && items.length < count) found.push('others of that time')
  return oneOf(text, found.slice(0, MOST), 'cascade_not_found')
}

function assertLong(text: string, missing: ErrorCode): void {
  if (text.length >= limits.SHORT_ID_CHARACTERS) return
  throw new ServiceError(
    missing,
    `"${text}" is too short: give at least ${limits.SHORT_ID_CHARACTERS} characters of it.`,
  )
}

function oneOf(text: string, found: readonly string[], missing: ErrorCode): string {
  if (found.length === 1) return found[0]!
  if (found.length === 0) throw new ServiceError(missing, `No id begins with "${text}".`)
  const shown = found.slice(0, limits.SHORT_ID_CANDIDATES)
  const more = found.length > shown.length ? ' and others' : ''
  throw new ServiceError('ambiguous_id', `"${text}" stands for ${shown.join(', ')}${more}.`)
}
