/** What the interleaving search runs; see interleave.ts. */
import type { Memory, MemorySizes } from '../../core/memory/region.ts'

/** Called with the memory outside the search (set up), answers what runs inside it. The answer is plain JSON. */
// biome-ignore lint/suspicious/noExplicitAny: each scenario knows its own answers
export type Actor = (memory: Memory) => () => any

export interface Scenario {
  sizes?: Partial<MemorySizes>
  /** Sets the memory up, once, without a search. */
  prepare?(memory: Memory): void
  threads: readonly [Actor, Actor]
  /** Throws when the outcome is forbidden; what it answers is counted. */
  // biome-ignore lint/suspicious/noExplicitAny: each scenario knows its own answers
  check(memory: Memory, answers: any[]): unknown
}

export const scenario = (parts: Scenario): Scenario => parts
