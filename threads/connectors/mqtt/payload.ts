import { largeJson } from '../../../core/large-json.ts'
import { ServiceError } from '../../../protocol/errors.ts'
import { limits } from '../../../protocol/limits.ts'
import type { ArtifactReference } from '../../../protocol/values/dtype.ts'
import { inSlices } from '../../slices.ts'

/** What a payload is read as; a fault is a sentence without its subject, the message. */
export type Read = { readonly value: unknown } | { readonly fault: string }

export function readJson(payload: Buffer, key: string | null): Read {
  let value: unknown
  try {
    value = JSON.parse(payload.toString())
  } catch {
    return { fault: 'is not JSON' }
  }
  return key === null ? { value } : lift(value, key)
}

/** The same in slices, so that the other nodes have their turns in between. */
export async function readLongJson(payload: Buffer, key: string | null): Promise<Read> {
  let value: unknown
  try {
    value = await inSlices(largeJson(payload, Number.POSITIVE_INFINITY))
  } catch (error) {
    return { fault: faultOf(error) }
  }
  return key === null ? { value } : lift(value, key)
}

function faultOf(error: unknown): string {
  const code = error instanceof ServiceError ? error.code : null
  if (code === 'too_deep') return `is nested deeper than ${limits.JSON_DEPTH} levels`
  if (code !== 'too_large') return 'is not JSON'
  return `has an object of more than ${limits.VALUE_PARTS} members, or a list of more than ${limits.LIST_ITEMS} items`
}

/** A member by its whole name, else by names with dots between. */
function lift(value: unknown, key: string): Read {
  if (isObject(value) && Object.hasOwn(value, key)) return { value: value[key] }
  let at = value
  for (const name of key.split('.')) {
    if (!isObject(at) || !Object.hasOwn(at, name)) return { fault: `has no ${JSON.stringify(key)}` }
    at = at[name]
  }
  return { value: at }
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

export function readNumber(payload: Buffer): Read {
  const text = payload.toString().trim()
  const value = text === '' ? Number.NaN : Number(text)
  return Number.isFinite(value) ? { value } : { fault: 'is not a number' }
}

export const isReference = (value: unknown): value is ArtifactReference =>
  isObject(value) && typeof value['digest'] === 'string' && typeof value['media_type'] === 'string'
