import { limits } from '../../protocol/limits.ts'
import { isVariable } from '../../protocol/names.ts'
import type { ResourceAmounts } from '../../protocol/nouns/run.ts'
import { settings } from '../../protocol/settings.ts'
import { describe } from '../../protocol/values/describe.ts'

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

export interface VariableRefusal {
  /** Null: all of them together. */
  readonly name: string | null
  readonly text: string
}

/** Why no process could be started with these variables (`execve` of the system, and what passes through a shell). */
export function refuseEnvironment(declared: Readonly<Record<string, unknown>>): VariableRefusal[] {
  const refusals: VariableRefusal[] = []
  let bytes = 0
  for (const [name, given] of Object.entries(declared)) {
    // The shape looks at the values of variables whose names are right, and at no others.
    const value = String(given)
    bytes += Buffer.byteLength(name) + Buffer.byteLength(value) + '=\0'.length
    if (!isVariable(name)) {
      const rule = 'letters, digits and _, at most 128, no digit first'
      refusals.push({ name, text: `${describe(name)} is not a name of a variable (${rule})` })
    } else if (value.includes('\0')) {
      refusals.push({ name, text: `the value of ${name} contains a NUL character, which no variable can hold` })
    }
  }
  if (bytes > limits.ENVIRONMENT_BYTES)
    refusals.push({ name: null, text: `takes ${bytes} bytes; at most ${limits.ENVIRONMENT_BYTES} are allowed` })
  return refusals
}

/** The settings of the engine; the timezone is everybody's. */
const OWN = new Set(
  Object.values(settings).flatMap(({ variable }) => (variable === null || variable === 'TZ' ? [] : [variable])),
)

/**
 * What a thread or a process that runs bodies gets of the environment that the engine was started with: nothing that configures this engine
 * (the mail server with its password is among that), and no address or token for another one (`SVC_...`).
 */
export function bodyEnvironment(operator: Environment): Record<string, string> {
  const kept: Record<string, string> = {}
  for (const [name, value] of Object.entries(operator))
    if (value !== undefined && !OWN.has(name) && !name.startsWith('SVC_')) kept[name] = value
  return kept
}

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
