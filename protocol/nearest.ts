/** What somebody may have meant who wrote a name that does not exist. */

const DISTANCE_MAX = 3
/** Of the longer one of both: a name that shares less than this with the other is no slip of the hand. */
const ALIKE_MIN = 0.5
/** What a refusal may cost: 500 names of 20 characters take about a millisecond. */
export const CANDIDATES_MAX = 500
const CHARACTERS_MAX = 64

/** The name that takes the fewest edits (insert, remove, replace, swap of neighbours), or null when none is near. The first of equals. */
export function nearest(name: string, candidates: Iterable<string>): string | null {
  if (name.length > CHARACTERS_MAX) return null
  let best: string | null = null
  let least = DISTANCE_MAX + 1
  let left = CANDIDATES_MAX
  for (const candidate of candidates) {
    if (left-- === 0) break
    const longest = Math.max(name.length, candidate.length)
    if (Math.abs(name.length - candidate.length) >= least || candidate.length > CHARACTERS_MAX) continue
    const distance = edits(name.toLowerCase(), candidate.toLowerCase())
    if (distance >= least || (longest - distance) / longest < ALIKE_MIN) continue
    best = candidate
    least = distance
  }
  return best
}

/** ` Did you mean "boiler"?`, for the end of a sentence; empty when no name is near. */
export function didYouMean(name: string, candidates: Iterable<string>): string {
  const found = nearest(name, candidates)
  return found === null ? '' : ` Did you mean "${found}"?`
}

/** Optimal string alignment: three rows of the table of Damerau and Levenshtein. */
function edits(a: string, b: string): number {
  let before: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1]
      let least = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + (isSame ? 0 : 1))
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) least = Math.min(least, before[j - 2]! + 1)
      row.push(least)
    }
    before = last
    last = row
  }
  return last[b.length]!
}
