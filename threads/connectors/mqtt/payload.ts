import type { ArtifactReference } from '../../../protocol/values/dtype.ts'

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
