import { placeOf } from '../../core/runs/inputs.ts'
import { type Reference, referencesIn } from '../../core/runs/references.ts'
import type { ErrorPlace } from '../../protocol/errors.ts'
import { limits } from '../../protocol/limits.ts'
import type { RunStore } from '../store/front/runs.ts'

export interface FoundReferences {
  /** The inputs as given, with whole ids of runs, since a short id may stand for another run later. */
  readonly given: Record<string, unknown>
  readonly references: Reference[]
  /** Values from results of other runs, by the text of the reference. */
  readonly values: Map<string, unknown>
  readonly errors: ErrorPlace[]
}

const WHOLE_ID = 36

/** Resolves inputs that refer to outputs of other runs. */
export class RunReferences {
  readonly #store: Pick<RunStore, 'idsFrom' | 'head' | 'output'>

  constructor(store: Pick<RunStore, 'idsFrom' | 'head' | 'output'>) {
    this.#store = store
  }

  async in(inputs: Readonly<Record<string, unknown>>): Promise<FoundReferences> {
    const { references: found, errors } = referencesIn(inputs)
    const given = { ...inputs }
    const references: Reference[] = []
    const values = new Map<string, unknown>()
    const wrong = (input: string, msg: string): void => {
      errors.push({ loc: placeOf(input), msg })
    }
    for (const reference of found) {
      if (reference.kind === 'artifact') {
        references.push(reference)
        continue
      }
      const { input, output } = reference
      const [id, ...others] = await this.#idsOf(reference.run)
      if (id === undefined) wrong(input, `names run ${reference.run}, which there is not`)
      else if (others.length > 0) wrong(input, `names run ${reference.run}, which stands for ${shown([id, ...others])}`)
      if (id === undefined || others.length > 0) continue
      const text = `@run:${id}.${output}`
      given[input] = text
      references.push({ ...reference, run: id, text })
      const { status } = (await this.#store.head(id))!
      const { has_result, value } = await this.#store.output(id, output)
      if (!has_result) wrong(input, `names run ${id}, which is ${status}`)
      else if (value === undefined) wrong(input, `names ${output}, which is not in the result of run ${id}`)
      else values.set(text, value)
    }
    return { given, references, values, errors }
  }

  async #idsOf(text: string): Promise<string[]> {
    if (text.length === WHOLE_ID) return (await this.#store.head(text)) === null ? [] : [text]
    return text.length < limits.SHORT_ID_CHARACTERS ? [] : this.#store.idsFrom(text, limits.SHORT_ID_CANDIDATES + 1)
  }
}

const shown = (ids: readonly string[]): string =>
  `${ids.slice(0, limits.SHORT_ID_CANDIDATES).join(', ')}${ids.length > limits.SHORT_ID_CANDIDATES ? ' and others' : ''}`
