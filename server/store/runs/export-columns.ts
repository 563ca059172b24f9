import { ServiceError } from '../../../protocol/errors.ts'
import { limits } from '../../../protocol/limits.ts'
import { keyText } from '../../../protocol/values/canonical-json.ts'
import { sha256 } from '../catalog/blobs.ts'

/** Leaves of a value by their paths; a list is one leaf, and so is an object without members, and a reference to an artifact. */
export type Leaves = Map<string, unknown>

interface Path {
  keys: readonly string[]
  runs: number
  /** The text of the first value; all others are equal as long as the path does not vary. */
  text: string
  varies: boolean
}

/** Texts longer than this are compared by their digests, so that memory follows the number of paths, not their values. */
const KEPT_CHARACTERS = 64

/**
 * Which columns the runs of an export need: the paths at which their inputs differ (one that a run lacks differs too) and
 * those at which a result has a number or a list. In the order of their code units, so that equal selections give equal columns.
 */
export class ExportColumns {
  readonly #inputs = new Map<string, Path>()
  readonly #numbers = new Map<string, readonly string[]>()
  #runs = 0

  add(inputs: unknown, result: unknown): void {
    this.#runs++
    for (const [id, value] of leavesOf(inputs)) this.#addInput(id, value)
    for (const [id, value] of leavesOf(result)) {
      if (isShown(value) && !this.#numbers.has(id)) this.#numbers.set(id, keysOf(id))
    }
    if (this.#inputs.size + this.#numbers.size > limits.EXPORT_COLUMNS) {
      throw new ServiceError(
        'too_large',
        `The inputs and results of the selection have more than ${limits.EXPORT_COLUMNS} different paths.`,
      )
    }
  }

  /** Ids of leaves, with the names of their columns. */
  inputs(): { id: string; name: string }[] {
    const varying = [...this.#inputs].filter(([, { varies, runs }]) => varies || runs < this.#runs)
    return named(
      'inputs',
      varying.map(([id, { keys }]) => [id, keys]),
    )
  }

  numbers(): { id: string; name: string }[] {
    return named('result', [...this.#numbers])
  }

  #addInput(id: string, value: unknown): void {
    const whole = keyText(value)
    const text = whole.length > KEPT_CHARACTERS ? sha256(whole) : whole
    const path = this.#inputs.get(id)
    if (!path) {
      this.#inputs.set(id, { keys: keysOf(id), runs: 1, text, varies: false })
      return
    }
    path.runs++
    if (path.text !== text) path.varies = true
  }
}

/** Whether a leaf of a result is exported: numbers and lists are; texts and artifacts are read at the run. */
export const isShown = (value: unknown): boolean => typeof value === 'number' || Array.isArray(value)

/** The id of a path: the JSON of its keys, which is unambiguous whatever the keys contain. */
const idOf = (keys: readonly string[]): string => JSON.stringify(keys)
const keysOf = (id: string): string[] => JSON.parse(id) as string[]

const isReference = (value: object): boolean =>
  'digest' in value && 'media_type' in value && /^sha256:[0-9a-f]{64}$/.test(String(value.digest))

export function leavesOf(value: unknown): Leaves {
  const leaves: Leaves = new Map()
  const walk = (at: unknown, keys: readonly string[]): void => {
    const isWhole = typeof at !== 'object' || at === null || Array.isArray(at) || isReference(at)
    const members = isWhole ? [] : Object.entries(at)
    if (members.length === 0 && keys.length > 0) leaves.set(idOf(keys), at)
    for (const [key, member] of members) walk(member, [...keys, key])
  }
  walk(value, [])
  return leaves
}

/** Names paths with dots. If two paths would get the same name, dots inside keys get a backslash. */
function named(root: string, paths: [id: string, keys: readonly string[]][]): { id: string; name: string }[] {
  const taken = Map.groupBy(paths, ([, keys]) => keys.join('.'))
  return paths
    .map(([id, keys]) => {
      const alone = taken.get(keys.join('.'))!.length === 1
      return { id, name: [root, ...(alone ? keys : keys.map(key => key.replace(/[\\.]/g, '\\$&')))].join('.') }
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
}
