import type { ResourceAmounts } from '../../protocol/nouns/run.ts'

/** The environment of a process that runs a node's body: how many threads its libraries start, which cards they see. */

/** What libraries that start threads of their own ask for their number. */
export const THREAD_VARIABLES = [
  'OMP_NUM_THREADS',
  'OPENBLAS_NUM_THREADS',
  'MKL_NUM_THREADS',
  'BLIS_NUM_THREADS',
  'NUMEXPR_NUM_THREADS',
  'VECLIB_MAXIMUM_THREADS',
  'RAYON_NUM_THREADS',
  'POLARS_MAX_THREADS',
] as const

type Environment = Readonly<Record<string, string | undefined>>

/** Threads for a node that declares no cores: its share when every worker is busy (Node rule 5). */
export const threadShare = (cpus: number, workers: number): number => Math.max(1, Math.floor(cpus / workers))

export interface CallEnvironment {
  /** `resources.env` of the node. */
  readonly declared: Readonly<Record<string, string>>
  /** Null: the node declares nothing. */
  readonly granted: ResourceAmounts | null
  /** Numbers of the cards that it holds. */
  readonly cards: readonly number[]
  /** For a node that declares no cores: `threadShare`. */
  readonly share: number
  /** What the engine itself was started with. */
  readonly operator: Environment
}

/**
 * What is set on top of the operator's environment. Cores that were granted cap the threads. Without them the cap is the share, unless
 * the operator has set OMP_NUM_THREADS, or the one variable itself. A node that declares cards sees those that it holds and
 * no others. What the node declares wins over all of it; nothing else ever sets XLA_FLAGS.
 */
export function callEnvironment({
  declared,
  granted,
  cards,
  share,
  operator,
}: CallEnvironment): Record<string, string> {
  const environment: Record<string, string> = {}
  const isSet = (name: string): boolean => (operator[name] ?? '') !== ''
  const cpus = granted?.cpus ?? null
  for (const name of THREAD_VARIABLES) {
    if (cpus !== null) environment[name] = String(Math.max(1, Math.ceil(cpus)))
    else if (!isSet('OMP_NUM_THREADS') && !isSet(name)) environment[name] = String(share)
  }
  if ((granted?.gpus ?? null) !== null) environment['CUDA_VISIBLE_DEVICES'] = cards.join(',')
  return { ...environment, ...declared }
}
