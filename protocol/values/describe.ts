/**
 * Values and places in the words of a refusal. Apart from explain.ts, because the threads that only encode and decode values
 * need these and none of the schema library, whose 700 modules take 180 ms of processor time to load.
 */

/** `place('nodes[2].settings', 'a b')` is `nodes[2].settings["a b"]`. */
export function place(root: string, key: string | number): string {
  if (typeof key === 'number') return `${root}[${key}]`
  if (!/^[A-Za-z_][A-Za-z0-9_-]{0,127}$/.test(key)) return `${root}[${JSON.stringify(shorten(key))}]`
  return root === '' ? key : `${root}.${key}`
}

/** A value in a few characters, for a sentence: `"abc"`, `5`, `an object`. */
export function describe(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  switch (typeof value) {
    case 'string':
      return JSON.stringify(shorten(value))
    case 'object':
      return 'an object'
    case 'function':
    case 'symbol':
      return `a ${typeof value}`
    default:
      return String(value)
  }
}

const shorten = (text: string): string => (text.length <= 40 ? text : `${text.slice(0, 39)}…`)
