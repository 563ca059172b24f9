/** The keys of a JSON Pointer (RFC 6901), from the outermost on; none for the empty one, which is the whole value. */
export const pointerKeys = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map(key => key.replaceAll('~1', '/').replaceAll('~0', '~'))

/** The value that the keys lead to; undefined: there is none. */
export function valueAt(value: unknown, keys: readonly string[]): unknown {
  let found = value
  for (const key of keys) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, key)) return undefined
    found = (found as Record<string, unknown>)[key]
  }
  return found
}
