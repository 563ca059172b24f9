import { limits } from '../../../protocol/limits.ts'
import type { RunError, RunSummary } from '../../../protocol/nouns/run.ts'
import type { StoredRunHead } from '../front/runs.ts'
import { shownWith } from '../front/shown-run.ts'

/** The columns of a row: JSON of all values, or of the kept part of long ones (`cut`). */
interface SummaryValues {
  inputs: string
  inputs_cut: boolean
  result: string | null
  result_cut: boolean
}

export function shownSummary(run: StoredRunHead, values: SummaryValues, now_us: number): RunSummary {
  const shown = (json: string, isCut: boolean): Cut => {
    const all = JSON.parse(json) as Record<string, unknown>
    return isCut ? { values: all, truncated: true } : cutValues(all)
  }
  const inputs = shown(values.inputs, values.inputs_cut)
  const result = values.result === null ? null : shown(values.result, values.result_cut)
  const { error, truncated } = cutError(run.error)
  const kept = { inputs: inputs.values, inputs_resolved: null, result: result?.values ?? null }
  const { inputs_resolved: _, ...whole } = shownWith<Record<string, unknown> | null>(run, kept, now_us)
  return {
    ...whole,
    inputs: inputs.values,
    error,
    truncated: truncated || inputs.truncated || (result?.truncated ?? false),
  }
}

/** Most members that are examined; later ones are left out, however small they are. */
const MEMBERS = 4_096

export interface Cut {
  values: Record<string, unknown>
  /** Something was left out. */
  truncated: boolean
}

/** The part of inputs or result that a list shows: numbers, booleans and short texts, also inside objects. */
export function cutValues(values: Readonly<Record<string, unknown>>): Cut {
  let left = limits.RUN_SUMMARY_BYTES - 2
  let members = MEMBERS
  let truncated = false
  /** The kept part of a value; undefined when nothing is kept. */
  const cut = (value: unknown): unknown => {
    switch (typeof value) {
      case 'number':
      case 'boolean':
        return value
      case 'string':
        return value.length <= limits.RUN_SUMMARY_CHARACTERS ? value : undefined
      case 'object':
        if (value === null) return null
        return Array.isArray(value) ? undefined : object(value as Record<string, unknown>)
      default:
        return undefined
    }
  }
  const object = (from: Readonly<Record<string, unknown>>): Record<string, unknown> | undefined => {
    const kept: [string, unknown][] = []
    let isEmpty = true
    for (const key in from) {
      isEmpty = false
      if (members-- <= 0 || left <= 0) {
        truncated = true
        break
      }
      const before = left
      const name = bytesOf(key)
      left -= name + 2
      const member = left < 0 ? undefined : cut(from[key])
      const isObject = typeof member === 'object' && member !== null
      if (member !== undefined) left -= isObject ? 2 : bytesOf(member)
      if (member !== undefined && left >= 0) kept.push([key, member])
      else {
        truncated = true
        left = before
      }
    }
    return isEmpty || kept.length > 0 ? Object.fromEntries(kept) : undefined
  }
  return { values: object(values) ?? {}, truncated }
}

export const cutError = (error: RunError | null): { error: RunSummary['error']; truncated: boolean } => {
  if (error === null) return { error, truncated: false }
  const { code, message, node, stack } = error
  const most = limits.RUN_SUMMARY_ERROR_CHARACTERS
  const short = message.length <= most ? message : message.slice(0, most)
  return { error: { code, message: short.toWellFormed(), node }, truncated: stack !== null || short !== message }
}

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))
