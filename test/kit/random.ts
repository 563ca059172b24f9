import { randomInt } from 'node:crypto'

/** The seed of this run, from `SEED` when it is set; print it, so that a failure can be seen again. */
export const seed: number = process.env['SEED'] === undefined ? randomInt(2 ** 31) : Number(process.env['SEED'])

/** Random numbers in [0, 1), the same for the same seed: Marsaglia's xorshift of 32 bits (J. Stat. Software 8:14, 2003). */
export function randomFrom(start: number): () => number {
  let state = Math.imul(start + 1, 0x9e3779b1) | 1
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) / 2 ** 32
  }
}
