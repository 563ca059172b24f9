import type { ErrorPlace } from '../../protocol/errors.ts'
import type { Dtype } from '../../protocol/values/dtype.ts'
import { placeOf, type RunInput } from './inputs.ts'

/**
 * Spellings that are reserved on every input of a run, as a whole value: `@run:<run id>.<output>` stands for what the result
 * of that run holds (the id may be short), `sha256:<64 hex digits>` for the artifact with that digest.
 */
export type Reference =
  | { kind: 'run'; input: string; text: string; run: string; output: string }
  | { kind: 'artifact'; input: string; digest: string }

const RUN = /^@run:([0-9a-f-]{1,36})\.([A-Za-z_][A-Za-z0-9_-]{0,63}(?:\.[A-Za-z_][A-Za-z0-9_-]{0,63})?)$/
const ARTIFACT = /^sha256:[0-9a-f]{64}$/

/** The references among the given inputs. A text that only begins like a run's output is an error: the prefix is reserved. */
export function referencesIn(given: Readonly<Record<string, unknown>>): {
  references: Reference[]
  errors: ErrorPlace[]
} {
  const references: Reference[] = []
  const errors: ErrorPlace[] = []
  for (const [input, value] of Object.entries(given)) {
    if (typeof value !== 'string') continue
    const run = RUN.exec(value)
    if (run !== null) references.push({ kind: 'run', input, text: value, run: run[1]!, output: run[2]! })
    else if (ARTIFACT.test(value)) references.push({ kind: 'artifact', input, digest: value })
    else if (value.startsWith('@run:')) errors.push({ loc: placeOf(input), msg: 'is not @run:<run id>.<output>' })
  }
  return { references, errors }
}

/**
 * The inputs with their references replaced. `resultOf` answers what the result of a run holds; what it holds is taken as it
 * is, even a text that looks like a reference. A bare digest becomes a reference to the artifact where the dtype allows one,
 * and stays text on the other dtypes.
 */
export function replaceReferences(
  given: Readonly<Record<string, unknown>>,
  references: readonly Reference[],
  inputs: readonly RunInput[],
  resultOf: (reference: Reference & { kind: 'run' }) => unknown,
): Record<string, unknown> {
  const dtypes = new Map(inputs.map(input => [input.name, input.dtype]))
  const replaced: Record<string, unknown> = { ...given }
  for (const reference of references) {
    const { input } = reference
    if (reference.kind === 'run') replaced[input] = resultOf(reference)
    else replaced[input] = artifactOn(dtypes.get(input) ?? null, reference.digest)
  }
  return replaced
}

/**
 * A digest says nothing of the media type. Where the dtype narrows it, the reference has the whole range, `image/*`: a body
 * that must know more reads the bytes.
 */
function artifactOn(dtype: Dtype | null, digest: string): unknown {
  switch (dtype) {
    case 'image':
    case 'audio':
    case 'video':
      return { digest, media_type: `${dtype}/*` }
    case 'artifact':
    case 'json':
      return { digest, media_type: 'application/octet-stream' }
    default:
      return digest
  }
}
