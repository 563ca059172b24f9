/** The part of an id that short ids show: its begin and end, and the usual number of digits. */
interface Part {
  readonly from: number
  readonly to: number
  readonly digits: number
}

/** A run: the beginning of the last group, which is random. */
const RUN: Part = { from: 24, to: 36, digits: 8 }
/** A cascade: the time to the millisecond. */
const CASCADE: Part = { from: 0, to: 36, digits: 13 }
/** A digest: its first hex digits. */
const DIGEST: Part = { from: 'sha256:'.length, to: 71, digits: 12 }

/** Short ids by id, long enough to be different. */
export const shortRuns = (ids: Iterable<string>): ReadonlyMap<string, string> => shortened(ids, RUN)
export const shortCascades = (ids: Iterable<string>): ReadonlyMap<string, string> => shortened(ids, CASCADE)
export const shortDigests = (digests: Iterable<string>): ReadonlyMap<string, string> => shortened(digests, DIGEST)

function shortened(ids: Iterable<string>, { from, to, digits: least }: Part): ReadonlyMap<string, string> {
  const all = [...new Set(ids)]
  for (let digits = least; from + digits < to; digits++) {
    const short = new Map(all.map(id => [id, id.slice(from, from + digits)]))
    if (new Set(short.values()).size === all.length) return short
  }
  return new Map(all.map(id => [id, id]))
}
